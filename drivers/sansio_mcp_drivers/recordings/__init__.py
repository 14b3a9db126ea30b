"""Recordings of sessions: made by a proxy, replayed through the core, drawn as a page."""
