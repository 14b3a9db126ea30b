// What bare.py does, with the node SDK. Usage: node.mjs FOLDER_OF_THE_SDK SERVER...
import { pathToFileURL } from "node:url";

const [, , folder, command, ...args] = process.argv;
const sdk = `${folder}/node_modules/@modelcontextprotocol/sdk/dist/esm/client`;
const load = (name) => import(pathToFileURL(`${sdk}/${name}.js`));
const [{ Client }, { StdioClientTransport }] = [await load("index"), await load("stdio")];
const client = new Client({ name: "benchmark", version: "1" });
await client.connect(new StdioClientTransport({ command, args }));
const { tools } = await client.listTools();
await client.close();
process.stdout.write(`${tools.length}\n`);
