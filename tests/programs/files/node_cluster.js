// Four processes that share one listening socket.
const cluster = require('node:cluster');
const http = require('node:http');

if (cluster.isPrimary) {
  let port;
  const served = new Set();
  for (let n = 0; n < 4; n++) cluster.fork();
  let listening = 0;
  cluster.on('listening', (worker, address) => {
    port = address.port;
    if (++listening === 4) ask(20);
  });
  const ask = (left) => {
    if (left === 0) {
      console.log('served by several', served.size > 1);
      for (const worker of Object.values(cluster.workers)) worker.kill();
      return;
    }
    http.get({ port, host: '127.0.0.1', agent: false }, (response) => {
      let body = '';
      response.on('data', (data) => (body += data));
      response.on('end', () => { served.add(body); ask(left - 1); });
    });
  };
  let exits = 0;
  cluster.on('exit', () => { if (++exits === 4) console.log('all workers ended'); });
} else {
  http.createServer((request, response) => response.end(String(process.pid))).listen(0, '127.0.0.1');
}
