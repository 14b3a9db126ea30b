// What worker.py does, for the node SDK. Usage: node.mjs FOLDER_OF_THE_SDK CASE TIMES SETTINGS SERVER...
// SETTINGS is JSON: arguments, weight, sentence, per, tools, servers, budget.
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [, , folder, kase, timesText, settingsText, command, ...args] = process.argv;
const times = Number(timesText);
const settings = JSON.parse(settingsText);
const now = () => performance.now() / 1000;
const cpuNow = () => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
};
const resident = (field) => {
  const line = readFileSync("/proc/self/status", "utf8").split("\n").find((each) => each.startsWith(field));
  return Number(line.split(/\s+/)[1]) * 1024;
};
const expect = (found, wanted) => {
  if (found !== wanted) throw new Error(`the answers have ${found}, not ${wanted}`);
};

const sdk = `${folder}/node_modules/@modelcontextprotocol/sdk/dist/esm/client`;
const load = (name) => import(pathToFileURL(`${sdk}/${name}.js`));
const [imported, spent] = [now(), cpuNow()];
const [{ Client }, { StdioClientTransport }] = [await load("index"), await load("stdio")];
const importTook = { cpu: cpuNow() - spent, p50: now() - imported };

async function connect() {
  const client = new Client({ name: "benchmark", version: "1" });
  await client.connect(new StdioClientTransport({ command, args, maxBufferSize: 128 * 2 ** 20 }));
  return client;
}
// Its bound on a call is a minute, which its largest answer may take.
const bound = { timeout: 600_000 };
const call = (client, wanted) => client.callTool({ name: "list_berths_0", arguments: wanted }, undefined, bound);
const weight = ({ content, structuredContent }) =>
  structuredContent ? structuredContent.rows.length : (content[0].text ?? content[0].data).length;
async function listing(client) {
  let count = 0;
  let cursor;
  do {
    const page = await client.listTools(cursor === undefined ? {} : { cursor });
    count += page.tools.length;
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  return count;
}

async function turn(client) {
  if (kase === "listing") expect(await listing(client), settings.tools);
  else if (kase.startsWith("in_flight")) {
    const asked = Array.from({ length: settings.per }, () => call(client, settings.arguments));
    expect((await Promise.all(asked)).length, settings.per);
  } else {
    const result = await call(client, settings.arguments);
    if (kase !== "sequential") expect(weight(result), settings.weight);
  }
}

async function fleet(more) {
  const clients = await Promise.all(Array.from({ length: settings.servers }, connect));
  for (const each of await Promise.all(clients.map((client) => call(client, settings.arguments))))
    expect(weight(each), settings.weight);
  more.threads = readdirSync("/proc/self/task").length;
  more.fds = readdirSync("/proc/self/fd").length;
  await Promise.all(clients.map((client) => client.close()));
}

async function measured() {
  const more = {};
  const latencies = [];
  if (kase === "import") return importTook;
  if (kase === "close") {
    for (let done = 0; done < times; done++) {
      const client = await connect();
      const began = now();
      await client.close();
      latencies.push(now() - began);
    }
  }
  const client = ["close", "servers_50"].includes(kase) ? null : await connect();
  if (client !== null) expect(weight(await call(client, settings.small)), settings.sentence);
  const act = kase === "servers_50" ? () => fleet(more) : () => turn(client);
  let cpu = 0;
  if (kase !== "close") {
    more.resident = resident("VmRSS");
    writeFileSync("/proc/self/clear_refs", "5");
    const [spentBefore, before] = [cpuNow(), now()];
    await act();
    cpu = cpuNow() - spentBefore;
    const took = now() - before;
    more.peak = Math.max(0, resident("VmHWM") - more.resident);
    if (took > settings.budget) latencies.push(took);
    else {
      const warm = now() + settings.budget / 10;
      for (let done = 0; done < Math.floor(times / 10) && now() < warm; done++) await act();
      const end = now() + settings.budget;
      const began = cpuNow();
      let at = now();
      while (latencies.length < times && (at < end || latencies.length === 0)) {
        await act();
        latencies.push(now() - at);
        at = now();
      }
      cpu = cpuNow() - began;
    }
  }
  if (client !== null) await client.close();
  const ordered = [...latencies].sort((one, other) => one - other);
  const last = ordered.length - 1;
  const per = settings.per;
  return {
    cpu: cpu / ordered.length / per,
    p50: ordered[Math.floor(last / 2)] / per,
    p99: ordered[Math.floor((last * 99) / 100)] / per,
    ...more,
  };
}

process.stdout.write(`${JSON.stringify(await measured())}\n`);
