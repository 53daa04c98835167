/** A directory handle stays in the checked directory, even when paths are swapped afterwards. */
import {
  closeSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { openDirHandle, openEntry } from '../../../lib/store/dir-handle.ts'
import { fileScope } from '../../../lib/workspaces/file-scope.ts'
import { moveEntry, renameEntry } from '../../../lib/workspaces/move-entries.ts'
import { createText, readText, saveText } from '../../../lib/workspaces/text-files.ts'

const test = suite<{ top: string; root: string }>('directory handles')
test.before.each(context => {
  context.top = mkdtempSync(join(realpathSync(tmpdir()), 'hold-'))
  context.root = join(context.top, 'root')
  mkdirSync(join(context.root, 'dir'), { recursive: true })
  mkdirSync(join(context.top, 'outside'))
  writeFileSync(join(context.root, 'dir', 'a.txt'), 'inside')
  writeFileSync(join(context.top, 'outside', 'a.txt'), 'OUTSIDE')
})
test.after.each(({ top }) => rmSync(top, { recursive: true, force: true }))

const bounds = (root: string) => ({ root, isHidden: () => false })
const descriptors = () => readdirSync('/proc/self/fd').length

test('rejects paths outside in any spelling, NUL, too long ones, and links that lead out', ({
  root,
}) => {
  symlinkSync('../outside', join(root, 'away'))
  symlinkSync('../outside/a.txt', join(root, 'away.txt'))
  symlinkSync('loop', join(root, 'loop'))
  const before = descriptors()
  for (const path of [
    '..',
    '../outside/a.txt',
    'dir/../../outside',
    '/etc/passwd',
    '//etc/passwd',
    'away',
    'away/a.txt',
    'away.txt',
    'dir/a.txt\0',
    'x'.repeat(5000),
    'gone/deeper/a.txt',
    'dir/a.txt/below',
  ])
    assert.throws(() => openDirHandle(bounds(root), path), undefined, path.slice(0, 40))
  assert.is(descriptors(), before, 'a refusal leaves no descriptor open')
})

test('a directory replaced by a symlink after the check is not followed', ({ top, root }) => {
  using held = openDirHandle(bounds(root), 'dir/a.txt')
  renameSync(join(root, 'dir'), join(root, 'was'))
  symlinkSync(join(top, 'outside'), join(root, 'dir'))
  const fd = openEntry(held)
  assert.is(readFileSync(fd, 'utf8'), 'inside')
  closeSync(fd)
})

test('a file replaced by a symlink after the check is not opened', ({ top, root }) => {
  using held = openDirHandle(bounds(root), 'dir/a.txt')
  rmSync(join(root, 'dir', 'a.txt'))
  symlinkSync(join(top, 'outside', 'a.txt'), join(root, 'dir', 'a.txt'))
  assert.throws(() => openEntry(held), /ELOOP/)
})

test('hidden paths are missing, also through links', ({ root }) => {
  mkdirSync(join(root, 'state'))
  writeFileSync(join(root, 'state', 'key'), 'secret')
  symlinkSync('state', join(root, 'alias'))
  const area = fileScope(root, { hidden: [join(root, 'state')] })
  for (const path of ['state', 'state/key', 'alias/key', 'alias', 'state/new.txt', 'dir/../state'])
    assert.throws(() => openDirHandle(area, path), /not found/, path)
  assert.throws(() => createText(area, 'state/new.txt', ''), /not found/)
  assert.throws(() => renameEntry(area, 'dir', 'state'), /not found/)
})

/** Swaps `dir` for a link to the outside and back, as fast as it can, until the flag is set. */
const swapper = `
const { renameSync, symlinkSync, rmSync } = require('node:fs')
const { workerData: { root, outside, flag }, parentPort } = require('node:worker_threads')
const dir = root + '/dir', real = root + '/.real', link = root + '/.link'
symlinkSync(outside, link)
parentPort.postMessage('ready')
const stop = new Int32Array(flag)
let junk = 0
const into = (from, to) => {
  // Between the renames, a request may create the directory it writes to.
  for (;;) {
    try { return renameSync(from, to) } catch (error) { if (error.code === 'EBADF') throw error }
    try { renameSync(to, root + '/.junk-' + junk++) } catch (error) { if (error.code === 'EBADF') throw error }
  }
}
while (Atomics.load(stop, 0) === 0) {
  into(dir, real); into(link, dir)
  into(dir, link); into(real, dir)
  Atomics.add(stop, 1, 1)
}
rmSync(link)
`

test('while a directory is swapped repeatedly, nothing outside is read, written or moved', async ({
  top,
  root,
}) => {
  const outside = join(top, 'outside')
  const flag = new SharedArrayBuffer(8)
  const stop = new Int32Array(flag)
  const worker = new Worker(swapper, { eval: true, workerData: { root, outside, flag } })
  await new Promise(resolve => worker.once('message', resolve))
  const area = fileScope(root)
  const before = descriptors()
  let done = 0
  const read = new Set<string>()
  const attempt = (work: () => void): void => {
    try {
      work()
      done++
    } catch {
      // Rejected because the directory was swapped; that is fine.
    }
  }
  writeFileSync(join(root, 'moved.txt'), 'moved')
  for (let n = 0; n < 400; n++) {
    attempt(() => void read.add(readText(area, 'dir/a.txt').content))
    attempt(() => void saveText(area, 'dir/a.txt', 'inside', undefined))
    attempt(() => void createText(area, `dir/new-${n}.txt`, 'new'))
    attempt(() => void moveEntry(area, 'moved.txt', 'dir'))
    attempt(() => void moveEntry(area, 'dir/moved.txt', '.'))
  }
  Atomics.store(stop, 0, 1)
  await new Promise(resolve => worker.once('exit', resolve))
  assert.not(read.has('OUTSIDE'))
  assert.ok(done > 0, 'some of it worked')
  assert.ok(Atomics.load(stop, 1) > 0, 'it was swapped')
  assert.equal(readdirSync(outside), ['a.txt'])
  assert.is(readFileSync(join(outside, 'a.txt'), 'utf8'), 'OUTSIDE')
  assert.ok(descriptors() <= before, 'no descriptor stays open')
})

test.run()
