// Children in every way that child_process offers.
const { spawn, exec, execFile, fork, spawnSync, execSync } = require('node:child_process');

if (process.argv[2] === 'child') {
  process.on('message', (message) => {
    process.send({ doubled: message.value * 2 });
    process.disconnect();
  });
  return;
}

const steps = [
  (done) => {
    const child = spawn('sh', ['-c', 'cat; echo problem >&2; exit 3']);
    let output = '', errors = '';
    child.stdout.on('data', (data) => (output += data));
    child.stderr.on('data', (data) => (errors += data));
    child.on('close', (code) => { console.log('spawn', code, output.trim(), errors.trim()); done(); });
    child.stdin.end('fed\n');
  },
  (done) => exec('echo $((6*7)); exit 5', (error, output) => { console.log('exec', error.code, output.trim()); done(); }),
  (done) => execFile('seq', ['1', '5'], (error, output) => { console.log('execFile', output.split('\n').length); done(); }),
  (done) => {
    const child = fork(__filename, ['child']);
    child.on('message', (message) => console.log('fork', message));
    child.on('exit', (code) => { console.log('exit', code); done(); });
    child.send({ value: 21 });
  },
  (done) => {
    const child = spawn('sleep', ['30']);
    child.on('exit', (code, signal) => { console.log('killed', code, signal); done(); });
    child.kill();
  },
  (done) => {
    const child = spawn('/nonexistent/program');
    child.on('error', (error) => { console.log('error', error.code); done(); });
  },
  (done) => exec('sleep 30', { timeout: 100 }, (error) => { console.log('timeout', error.killed, error.signal); done(); }),
  (done) => {
    console.log('spawnSync', spawnSync('sh', ['-c', 'exit 9']).status, execSync('echo sync').toString().trim());
    const big = spawnSync('head', ['-c', '3000000', '/dev/zero'], { maxBuffer: 1e7 });
    console.log('big', big.stdout.length);
    done();
  },
  (done) => {
    let left = 10, sum = 0;
    for (let n = 0; n < 10; n++) {
      exec(`echo ${n}`, (error, output) => { sum += Number(output); if (--left === 0) { console.log('parallel', sum); done(); } });
    }
  },
];
const next = () => steps.length && steps.shift()(next);
next();
