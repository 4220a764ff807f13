// What scripts for Node do: files, processes, servers, workers, streams, timers.
const fs = require('fs'), os = require('os'), path = require('path'), net = require('net'), http = require('http');
const { spawn, spawnSync, execFileSync } = require('child_process');
const { Worker } = require('worker_threads'), crypto = require('crypto'), zlib = require('zlib');
const { pipeline } = require('stream/promises'), { once } = require('events');

async function files(folder) {
  fs.mkdirSync(path.join(folder, 'a/b'), { recursive: true });
  const file = path.join(folder, 'a/b/file.txt');
  fs.writeFileSync(file, 'one\n'); fs.appendFileSync(file, 'two\n'); fs.symlinkSync('file.txt', file + '.link');
  console.log(fs.readFileSync(file + '.link', 'utf8'), fs.readdirSync(path.dirname(file)), fs.statSync(file).size);
  await fs.promises.copyFile(file, file + '.copy'); await fs.promises.rename(file + '.copy', file + '.moved');
  await pipeline(fs.createReadStream(file), zlib.createGzip(), fs.createWriteStream(file + '.gz'));
  console.log(zlib.gunzipSync(await fs.promises.readFile(file + '.gz')).toString());
  fs.chmodSync(file, 0o600); fs.truncateSync(file, 2); fs.utimesSync(file, 1, 2); console.log(fs.statSync(file).mtimeMs);
  const watcher = fs.watch(folder), changed = once(watcher, 'change');
  fs.writeFileSync(path.join(folder, 'new'), 'x'); await changed; watcher.close(); console.log('watched');
}

async function processes() {
  console.log(spawnSync('sh', ['-c', 'cat; exit 3'], { input: 'in' }).status, execFileSync('echo', ['out']).toString());
  const child = spawn('sleep', ['10']); child.kill('SIGTERM'); console.log((await once(child, 'exit'))[1]);
  const cat = spawn('cat'); cat.stdin.end('stream'); let text = '';
  for await (const chunk of cat.stdout) text += chunk;
  console.log(text);
  process.once('SIGUSR2', () => console.log('usr2')); process.kill(process.pid, 'SIGUSR2');
  await new Promise(resolve => setTimeout(resolve, 20));
}

async function network(folder) {
  const server = http.createServer((request, response) => response.end('page ' + request.url)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const text = await new Promise((resolve, reject) => http.get({ port: server.address().port, host: '127.0.0.1', path: '/x' },
    response => { let text = ''; response.on('data', chunk => text += chunk); response.on('end', () => resolve(text)); }).on('error', reject));
  console.log(text); server.close();
  const unix = net.createServer(socket => socket.end('unix')).listen(path.join(folder, 'socket')); await once(unix, 'listening');
  const client = net.connect(path.join(folder, 'socket')); let answer = '';
  for await (const chunk of client) answer += chunk;
  console.log(answer); unix.close();
}

async function workers() {
  const worker = new Worker('const {parentPort}=require("worker_threads");parentPort.once("message",m=>parentPort.postMessage(m*2))', { eval: true });
  worker.postMessage(21); console.log((await once(worker, 'message'))[0]); await worker.terminate();
  console.log(crypto.createHash('sha256').update('x').digest('hex').slice(0, 8), crypto.randomBytes(8).length);
  console.log(os.cpus().length > 0, os.totalmem() > 0, os.platform(), process.memoryUsage().rss > 0, process.hrtime.bigint() > 0n);
}

(async () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'work-'));
  try { await files(folder); await processes(); await network(folder); await workers(); }
  finally { fs.rmSync(folder, { recursive: true }); }
})();
