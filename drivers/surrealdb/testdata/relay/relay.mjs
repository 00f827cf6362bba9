// A SurrealDB 3 server for tests: the real engine, from @surrealdb/node, behind a WebSocket front of our own. It speaks the server's RPC protocol in
// CBOR and takes of `surreal start` what the tests use:
//
//   node relay.mjs --modules FOLDER start --bind HOST:PORT [--import-file FILE] [--no-banner] [--log LEVEL] [--settled] DATASTORE
//
// FOLDER is where package.json was installed. SURREAL_USER and SURREAL_PASS make the root user. A request is not decoded here: it goes to the
// engine as it came, with the session of its connection spliced in. Many requests of a connection are in the engine at once, and their answers
// go out as they come. With --settled, answers to INFO FOR INDEX say that nothing is being compacted, as servers from 3.3 on do: the engine, which is older,
// cannot say so, and in this package compacts nothing.
import { createServer } from 'node:http';
import { randomBytes } from 'node:crypto';
import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const { values: options, positionals: [command, datastore = 'memory'] } = parseArgs({
  allowPositionals: true,
  options: {
    modules: { type: 'string', default: dirname(fileURLToPath(import.meta.url)) }, bind: { type: 'string', default: '127.0.0.1:8000' }, 'import-file': { type: 'string' },
    'no-banner': { type: 'boolean' }, log: { type: 'string' }, settled: { type: 'boolean' },
  },
});
if (command !== 'start') fail(`the only command is start, not ${command}`);
const require = createRequire(join(resolve(options.modules), 'package.json'));
const { WebSocketServer } = require('ws');
const { Tagged, decode, encode } = require('@surrealdb/cbor');

const engine = await open(datastore);
const version = await ask('version');
const { SURREAL_USER: user = 'root', SURREAL_PASS: password = 'root' } = process.env;
await ask('query', `DEFINE USER OVERWRITE ${user} ON ROOT PASSWORD ${JSON.stringify(password)} ROLES OWNER`);
if (options['import-file']) await ask('query', readFileSync(options['import-file'], 'utf8'));

const http = createServer((request, response) => {
  response.statusCode = ['/health', '/version'].includes(request.url) ? 200 : 404;
  response.end(request.url === '/version' ? version : '');
});
const sockets = new WebSocketServer({
  server: http, path: '/rpc', maxPayload: 128 << 20, perMessageDeflate: false, handleProtocols: (offered) => offered.has('cbor') && 'cbor',
});
sockets.on('connection', serve);
http.on('error', (error) => fail(error.message));
const [, host, port] = options.bind.match(/^\[?(.*?)\]?:(\d+)$/);
http.listen(Number(port), host, () => console.log(`${version} serves ${datastore} at ${options.bind}`));
for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, stop);

// serve carries the requests of one connection. Until it has signed in, next to nothing is let through: the engine itself would allow it all.
function serve(socket) {
  const session = randomBytes(16);
  session[6] = (session[6] & 0x0f) | 0x40;
  session[8] = (session[8] & 0x3f) | 0x80;
  const attached = engine.execute(encode({ id: 0, method: 'attach', session: new Tagged(37, session) }));
  const beat = setInterval(() => socket.ping(), 5000);
  let trusted = false;
  const send = (message) => socket.readyState === socket.OPEN && socket.send(message);
  socket.on('error', () => socket.terminate());
  socket.on('close', async () => {
    clearInterval(beat);
    await attached.then(() => engine.execute(encode({ id: 0, method: 'detach', session: new Tagged(37, session) }))).catch(() => {});
  });
  socket.on('message', async (data, binary) => {
    if (!binary) return socket.close(1003, 'CBOR only');
    let id = null;
    try {
      const request = envelope(data);
      id = request.id;
      await attached;
      if (!trusted && !['signin', 'authenticate', 'use', 'version', 'ping'].includes(request.method)) {
        return send(refusal(id, 'NotAllowed', 'IAM error: Not enough permissions to perform this action'));
      }
      let answer = Buffer.from(await engine.execute(withSession(data, request, session)));
      if (options.settled && data.includes('INFO FOR INDEX')) answer = withSettled(answer);
      if (isRefusal(answer)) return send(headed(id, answer.subarray(1)));
      if (request.method === 'signin' || request.method === 'authenticate') trusted = true;
      send(headed(id, Buffer.concat([text('result'), answer])));
    } catch (error) {
      send(refusal(id, 'Internal', String(error?.message ?? error)));
    }
  });
}

// open opens the engine. The package shows it to its own SDK alone, so it is taken from the file that is built for this machine.
async function open(url) {
  const libc = process.platform !== 'linux' ? '' : process.report.getReport().header.glibcVersionRuntime ? '-gnu' : '-musl';
  const file = join(resolve(options.modules), 'node_modules/@surrealdb/node/dist', `surrealdb-node.${process.platform}-${process.arch}${libc}.node`);
  return require(file).SurrealNodeEngine.connect(url === 'memory' ? 'mem://' : url, { capabilities: true }).catch((error) => fail(`open ${url}: ${error?.message ?? error}`));
}

// ask asks the engine something of our own, which must succeed.
async function ask(method, ...params) {
  const answer = decode(await engine.execute(encode({ id: 0, method, params })));
  const failed = answer?.error ?? (Array.isArray(answer) && answer.find((statement) => statement.status === 'ERR'));
  if (failed) fail(`${method}: ${failed.message ?? failed.result}`);
  return answer;
}

function stop() {
  for (const socket of sockets.clients) socket.terminate();
  http.close();
  engine.free();
  process.exit(0);
}

function fail(message) {
  console.error(message);
  process.exit(1);
}

// The rest reads and writes as much CBOR as it takes to leave requests and answers undecoded.

// item reads the head of the item at offset `at`: its major type, its number, whether it has no set length, and where its content begins.
function item(data, at) {
  const major = data[at] >> 5, short = data[at] & 31;
  switch (short) {
    case 24: return { major, n: data.readUInt8(at + 1), next: at + 2 };
    case 25: return { major, n: data.readUInt16BE(at + 1), next: at + 3 };
    case 26: return { major, n: data.readUInt32BE(at + 1), next: at + 5 };
    case 27: return { major, n: Number(data.readBigUInt64BE(at + 1)), next: at + 9 };
    case 31: return { major, n: Infinity, next: at + 1 };
  }
  if (short > 27) throw new Error('the request is not CBOR');
  return { major, n: short, next: at + 1 };
}

// after returns where the item at offset `at` ends.
function after(data, at) {
  if (at >= data.length) throw new Error('the request is cut off');
  const { major, n, next } = item(data, at);
  if (major === 0 || major === 1 || major === 7) return next;
  if (major === 6) return after(data, next);
  if (n !== Infinity && major < 4) return next + n;
  let end = next;
  for (let left = major === 5 ? 2 * n : n; left > 0 && !(n === Infinity && data[end] === 0xff); left--) end = after(data, end);
  return n === Infinity ? end + 1 : end;
}

// envelope reads what the front needs to know of a request: its ID as it stands there, its method, and whether it names a session.
function envelope(data) {
  const { major, n, next } = item(data, 0);
  if (major !== 5 || n === Infinity) throw new Error('the request is not a map of set length');
  const request = { id: null, method: '', named: false, members: n, body: next };
  for (let i = 0, at = next; i < n; i++) {
    const value = after(data, at), end = after(data, value);
    switch (decode(data.subarray(at, value))) {
      case 'id': request.id = data.subarray(value, end); break;
      case 'method': request.method = decode(data.subarray(value, end)); break;
      case 'session': request.named = true; break;
    }
    at = end;
  }
  return request;
}

function text(s) {
  return Buffer.concat([Buffer.from([0x60 + s.length]), Buffer.from(s)]); // of fewer than 24 bytes
}

// withSession is the request with the connection's session, unless it names one.
function withSession(data, { named, members, body }, session) {
  if (named) return data;
  if (members > 22) throw new Error('the request has too many members');
  return Buffer.concat([Buffer.from([0xa1 + members]), data.subarray(body), text('session'), Buffer.from([0xd8, 37, 0x50]), session]);
}

// withSettled is an answer in which each build of an index, a map of few members, has one more: compacting, which is false.
function withSettled(answer) {
  const building = text('building'), at = answer.indexOf(building);
  if (at < 0 || answer[at + building.length] >> 5 !== 5) return answer;
  const map = at + building.length;
  return Buffer.concat([answer.subarray(0, map), Buffer.from([answer[map] + 1]), text('compacting'), Buffer.from([0xf4]), withSettled(answer.subarray(map + 1))]);
}

function isRefusal(answer) {
  return answer[0] === 0xa1 && answer.subarray(1, 7).equals(text('error'));
}

// headed is an answer of the ID and one more member.
function headed(id, member) {
  return Buffer.concat([Buffer.from([0xa2]), text('id'), id ?? Buffer.from([0xf6]), member]);
}

function refusal(id, kind, message) {
  return headed(id, Buffer.concat([text('error'), Buffer.from(encode({ code: -32000, kind, message }))]));
}
