// The fs module: synchronous, with callbacks, with promises, streams and watches.
const fs = require('node:fs');
const path = require('node:path');

async function main() {
  fs.mkdirSync('data/deep/er', { recursive: true });
  fs.writeFileSync('data/text', 'hello\n');
  fs.appendFileSync('data/text', 'world\n');
  console.log(fs.readFileSync('data/text', 'utf8').split('\n').length, fs.statSync('data/text').size);
  await Promise.all([...Array(50).keys()].map((n) => fs.promises.writeFile(`data/file${n}`, 'x'.repeat(n * 100))));
  const sizes = await Promise.all((await fs.promises.readdir('data')).map(async (name) => (await fs.promises.stat(path.join('data', name))).isFile()));
  console.log('files', sizes.filter(Boolean).length);
  await new Promise((done) => fs.createReadStream('/dev/zero', { end: 999999 }).pipe(fs.createWriteStream('data/big')).on('finish', done));
  console.log('stream', fs.statSync('data/big').size);
  fs.symlinkSync('text', 'data/link');
  console.log('link', fs.readlinkSync('data/link'), fs.lstatSync('data/link').isSymbolicLink(), path.basename(fs.realpathSync('data/link')));
  fs.renameSync('data/file1', 'data/renamed');
  fs.copyFileSync('data/text', 'data/copied');
  fs.chmodSync('data/copied', 0o640);
  console.log('mode', (fs.statSync('data/copied').mode & 0o777).toString(8));
  try { fs.readFileSync('data/missing'); } catch (error) { console.log(error.code, error.syscall); }
  try { fs.rmdirSync('data'); } catch (error) { console.log(error.code); }
  const handle = await fs.promises.open('data/text', 'r+');
  await handle.write('J', 0);
  console.log((await handle.read(Buffer.alloc(5), 0, 5, 0)).buffer.toString());
  await handle.close();
  for (let n = 2; n < 50; n++) fs.unlinkSync(`data/file${n}`);
  fs.rmSync('data/deep', { recursive: true });
  console.log(fs.readdirSync('data').sort().join(' '), fs.existsSync('data/deep'));
  const temporary = fs.mkdtempSync('data/temporary-');
  fs.rmdirSync(temporary);
}
main();
