// Threads with messages, shared memory and Atomics.wait.
const { Worker, isMainThread, parentPort, workerData } = require('node:worker_threads');

if (isMainThread) {
  const shared = new Int32Array(new SharedArrayBuffer(8));
  const results = [];
  const workers = [1, 2, 3, 4].map((number) => new Worker(__filename, { workerData: { number, shared } }));
  let left = workers.length;
  for (const worker of workers) {
    worker.on('message', (message) => results.push(message));
    worker.on('exit', (code) => {
      if (code !== 0) console.log('exit', code);
      if (--left === 0) {
        console.log(results.sort((a, b) => a.number - b.number).map((it) => it.sum), shared[0]);
        failing();
      }
    });
  }
  setTimeout(() => { Atomics.store(shared, 1, 1); Atomics.notify(shared, 1); }, 50);
  const failing = () => {
    const worker = new Worker('throw new Error("inside")', { eval: true });
    worker.on('error', (error) => console.log('error', error.message));
  };
} else {
  const { number, shared } = workerData;
  Atomics.wait(shared, 1, 0);
  let sum = 0;
  for (let i = 0; i < 100000; i++) sum += i % number;
  for (let i = 0; i < 1000; i++) Atomics.add(shared, 0, 1);
  parentPort.postMessage({ number, sum });
}
