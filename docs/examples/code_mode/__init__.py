"""A program, which a model may have written, run against generated modules of servers that it cannot reach itself.

`harness.run` is the whole: it starts an interpreter, hands it the program and the modules, serves the calls that come
back, and returns what came of it. `channel` is how the two talk, `router` decides about each call, `denials` are the
words for no, and `runner` is the interpreter's side.
"""
