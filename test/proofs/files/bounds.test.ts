/** Limits of checkpoints: large folders and files, kills, concurrent turns, old records, time. */
import { mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { checkpointDir } from '../../../lib/workspaces/checkpoints/checkpoint-store.ts'
import { createTurns, snapshot } from '../../lib/workspaces/checkpoints/_turns.ts'

const test = suite('checkpoint limits')
const LIMITS = { files: 8, totalBytes: 10_000, fileBytes: 1_000, folders: 8, stepMs: 1_000 }

test('reports a folder that is too large once, and still records file tools', async () => {
  const turns = createTurns({ limits: LIMITS })
  for (let n = 0; n < 20; n++) turns.write(`f${n}`, 'x')
  const { recorder, streamId } = turns.open()
  assert.match(
    (await recorder.beforeChange('workspace')).join(),
    'too large to record (more than 8 files)',
  )
  assert.equal(await recorder.beforeChange('workspace'), [])
  assert.equal(await recorder.beforeChange([turns.at('f1')]), [])
  turns.write('f1', 'y')
  turns.write('f2', 'y')
  await recorder.end()
  const [record] = await turns.list()
  assert.equal(
    record?.changes.map(({ path }) => path),
    ['f1'],
  )
  assert.match(record?.notes.join() ?? '', 'too large')
  await turns.restore(streamId)
  assert.is(snapshot(turns.workspace).f1, '644 x')
  // The same session is not warned again, another one is. When it is small again, it is recorded.
  assert.equal((await turns.turn('workspace', () => undefined)).notes, [])
  const other = await turns.turn('workspace', () => undefined, { sessionId: 'bbbbbbbbbbbb' })
  assert.match(other.notes.join(), 'too large')
  turns.shell('rm f?? f8 f9')
  assert.equal((await turns.turn('workspace', () => turns.write('f1', 'z'))).notes, [])
  assert.is((await turns.list()).length, 3)
  await turns.close()
})

test('skips build products only when they make a folder too large', async () => {
  const turns = createTurns({ limits: LIMITS })
  turns.write('src/a', 'x')
  turns.write('dist/a', 'x')
  const small = await turns.turn('workspace', () => turns.shell('echo y > src/a; echo y > dist/a'))
  assert.equal(small.notes, [])
  assert.is((await turns.list())[0]?.changes.length, 2)
  for (let n = 0; n < 20; n++) turns.write(`dist/f${n}`, 'x')
  const large = await turns.turn('workspace', () => turns.shell('echo z > src/a; echo z > dist/a'))
  assert.match(large.notes.join(), 'dist, build, target')
  assert.equal(
    (await turns.list())[0]?.changes.map(({ path }) => path),
    ['src/a'],
  )
  await turns.close()
})

test('skips a huge file with a notice, and detects its change', async () => {
  const turns = createTurns({ limits: LIMITS })
  turns.write('huge', 'x'.repeat(2_000))
  turns.write('a', 'x')
  const { id, notes } = await turns.turn('workspace', () =>
    turns.shell('echo y > a; echo y >> huge'),
  )
  assert.match(notes.join(), 'Too large to record')
  const [record] = await turns.list()
  assert.match(record?.notes.join() ?? '', 'Changed, but too large to undo: huge')
  assert.equal((await turns.restore(id)).restored, ['a'])
  await turns.close()
})

test('records no hidden files and no installed packages', async () => {
  const turns = createTurns()
  turns.write('a', 'x')
  await turns.turn('workspace', () => {
    for (const path of ['hidden.txt', 'node_modules/x', '.venv/x', 'sub/__pycache__/x', '.git/x'])
      turns.write(path, 'secret')
    turns.shell('echo y > a; mkfifo pipe')
  })
  assert.equal(
    (await turns.list())[0]?.changes.map(({ path }) => path),
    ['a'],
  )
  await turns.close()
})

test('completes the record of a killed turn at the next start', async () => {
  const turns = createTurns()
  turns.write('a', 'x')
  const { recorder, streamId } = turns.open()
  await recorder.beforeChange('workspace')
  turns.write('a', 'y')
  const dir = checkpointDir(turns.home.dir, turns.workspace)
  turns.restart()
  await turns.service.now.recover([turns.home])
  const [record] = await turns.list()
  assert.equal([record?.id, record?.interrupted], [streamId, true])
  assert.equal(readdirSync(join(dir, 'webui', 'open')), [])
  await turns.restore(streamId)
  assert.is(snapshot(turns.workspace).a, '644 x')
  // A second recovery finds nothing, and a running turn is left alone.
  const running = turns.open()
  await running.recorder.beforeChange(['/nowhere'])
  await turns.service.now.recover([turns.home])
  assert.is(readdirSync(join(dir, 'webui', 'open')).length, 1)
  await running.recorder.end()
  await turns.close()
})

test('two sessions in one folder have separate lists, and neither restores while the other works', async () => {
  const turns = createTurns()
  turns.write('a', 'x')
  const [one, two] = [turns.open(), turns.open({ sessionId: 'bbbbbbbbbbbb' })]
  await one.recorder.beforeChange('workspace')
  await two.recorder.beforeChange([turns.at('b')])
  turns.write('a', 'y')
  turns.write('b', 'z')
  await one.recorder.end()
  const refused = await turns.restore(one.streamId).then(
    () => '',
    error => error.message,
  )
  assert.match(refused, 'A turn is running')
  await two.recorder.end()
  assert.match((await turns.list())[0]?.notes.join() ?? '', 'Another chat')
  assert.equal(
    (await turns.list('bbbbbbbbbbbb'))[0]?.changes.map(({ path }) => path),
    ['b'],
  )
  const strange = { name: 'other', dir: join(turns.root, 'other') }
  assert.equal(await turns.service.now.list(strange, 'aaaaaaaaaaaa'), [])
  await turns.close()
})

test('keeps only the newest turns and forgets deleted sessions', async () => {
  const turns = createTurns()
  for (let n = 0; n < 4; n++)
    await turns.turn('workspace', () => turns.write('a', `${n}`), { maxTurns: 2 })
  assert.equal(
    (await turns.list()).map(({ title }) => title),
    ['turn 4', 'turn 3'],
  )
  const dir = checkpointDir(turns.home.dir, turns.workspace)
  const blobs = () => readdirSync(join(dir, 'webui', 'blobs')).length
  assert.is(blobs(), 3, 'versions of the two turns that are left')
  assert.is(statSync(dir).mode & 0o077, 0)
  await turns.service.now.sweep([turns.home], () => false)
  assert.equal(await turns.list(), [])
  assert.ok(blobs() <= 1, 'of the file as it is now')
  await turns.close()
})

test('a workspace that is missing, or deleted with its records, causes no error', async () => {
  const turns = createTurns()
  rmSync(turns.workspace, { recursive: true })
  assert.equal((await turns.turn('workspace', () => undefined)).notes, [])
  mkdirSync(turns.workspace)
  turns.write('a', 'x')
  await turns.turn('workspace', () => turns.write('a', 'y'))
  rmSync(join(turns.home.dir, 'checkpoints'), { recursive: true })
  const { id } = await turns.turn('workspace', () => turns.write('a', 'z'))
  await turns.restore(id)
  assert.is(snapshot(turns.workspace).a, '644 y')
  // A damaged list of known files is read again; a damage that cannot be repaired is reported, and the turn continues.
  const own = join(checkpointDir(turns.home.dir, turns.workspace), 'webui')
  writeFileSync(join(own, 'known.json'), 'rubbish')
  assert.equal((await turns.turn('workspace', () => turns.write('a', 'q'))).notes, [])
  assert.is((await turns.list()).length, 3)
  rmSync(join(own, 'blobs'), { recursive: true })
  writeFileSync(join(own, 'blobs'), 'rubbish')
  const broken = await turns.turn('workspace', () => turns.write('a', 'r'))
  assert.match(broken.notes.join(), 'can’t be undone')
  await turns.close()
})

test('a turn does not wait longer for its files than the limit, and says what cannot be undone', async () => {
  const cell = new Int32Array(new SharedArrayBuffer(4))
  const turns = createTurns({
    timeoutMs: 0,
    // Each file takes longer than what is read at once.
    boundsOf: (_, root) => ({ root, isHidden: () => Atomics.wait(cell, 0, 0, 15) === 'ok' }),
  })
  for (const name of 'abcde') turns.write(name, 'x')
  const { recorder } = turns.open()
  assert.match((await recorder.beforeChange('workspace')).join(), 'recording them took too long')
  assert.equal(await recorder.beforeChange('workspace'), [])
  turns.write('a', 'y')
  await recorder.end()
  assert.equal(
    (await turns.list()).flatMap(({ changes }) => changes),
    [],
  )
  await turns.close()
})

test.run()
