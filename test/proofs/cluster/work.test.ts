/**
 * The work of a cell, on another machine with another path: what commands changed is there with their results, in its modes, links,
 * and empty folders, and what could not be copied is named to the person and the model. Back on the first machine nothing is lost.
 */
import { execFileSync } from 'node:child_process'
import {
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import * as assert from 'uvu/assert'
import { sha256 } from '../../../lib/base/sha256.ts'
import { ended, until } from '../../_wait.ts'
import {
  add,
  answersOf,
  arrived,
  as,
  cellDir,
  db,
  directory,
  pidOf,
  provider,
  startForwarder,
  startWorker,
  useModel,
  type Worker,
  workersSuite,
} from './_workers.ts'

const LONG = `${'n'.repeat(200)}/${'m'.repeat(200)}`
const WORK = `
printf 'the plan\\n' > plan.md
printf '#!/bin/sh\\necho hi\\n' > run.sh && chmod 755 run.sh
ln -s plan.md link.md; ln -s /nowhere broken; ln -s sub dirlink
mkdir -p sub/empty node_modules/x target '${LONG}'
echo deep > '${LONG}/file'; echo x > node_modules/x/index.js
printf 'Signature: 8a477f597d28d172789f06886806bc55\\n' > target/CACHEDIR.TAG; echo o > target/out.o
echo odd > 'a "quoted" ö name'
echo ini > ~/.toolrc
git init -q --template= . && git -c user.email=a@b.c -c user.name=A add plan.md && git -c user.email=a@b.c -c user.name=A commit -qm first
truncate -s 129M big.bin`

/** What is in a folder, as far as it is to follow: kind, mode, and content of each path. */
const treeOf = (dir: string): Record<string, string> =>
  Object.fromEntries(
    readdirSync(dir, { recursive: true, encoding: 'utf8' })
      .filter(name => !/^(?:node_modules|target|big\.bin)(?:\/|$)/.test(name))
      .sort()
      .map(name => {
        const path = join(dir, name)
        const stat = lstatSync(path, { throwIfNoEntry: false })
        // A takeover deletes it at this moment.
        if (!stat) return [name, 'gone']
        if (stat.isSymbolicLink()) return [name, `link ${readlinkSync(path)}`]
        if (stat.isDirectory()) return [name, 'folder']
        return [name, `${(stat.mode & 0o777).toString(8)} ${sha256(readFileSync(path))}`]
      }),
  )

const workOf = (worker: Worker): string => join(cellDir(worker, 'anna'), 'workspace')

const command = (text: string) => ({
  toolCalls: [{ id: 'c1', name: 'terminal', arguments: { command: text } }],
})

const proof = workersSuite('the work of a cell')

const inDatabase = (path: string) =>
  until(async () => {
    const found = await db.query('select 1 from agent_webui.file where path = $1', [path])
    return found.length > 0
  }, `the copy of ${path}`)

const killBoth = async (worker: Worker): Promise<void> => {
  const pid = pidOf(worker, 'anna')
  process.kill(pid, 'SIGKILL')
  worker.program.child.kill('SIGKILL')
  await ended(pid)
  await worker.program.exited
}

proof('kill -9 of the machine after a command: the next one has its work', async () => {
  await add('anna')
  const first = await startWorker('one')
  const forwarder = await startForwarder()
  const anna = as('anna', forwarder)
  await anna.get('/api/sessions')
  useModel(first, 'anna')
  writeFileSync(
    join(cellDir(first, 'anna'), 'home', 'config.yaml'),
    `${readFileSync(join(cellDir(first, 'anna'), 'home', 'config.yaml'), 'utf8')}approvals:\n  mode: off\nsandbox:\n  enabled: off\n`,
  )
  await inDatabase('home/config.yaml')
  const { body } = await anna.post('/api/session/new', {})
  const id: string = body.session.session_id
  const gate = Promise.withResolvers<void>()
  provider.push(command(WORK), { text: 'Too late.', gate: gate.promise })
  const started = await anna.post('/api/chat/start', { session_id: id, message: 'work' })
  // What is shown is committed, with what the command changed.
  for await (const { event, data } of anna.events(
    `/api/chat/stream?stream_id=${started.body.stream_id}`,
  ))
    if (event === 'message' && 'tool_call_id' in Object(data.message)) break
  await inDatabase('state/not-copied.json')
  const before = treeOf(workOf(first))
  assert.is(before['link.md'], 'link plan.md')
  await killBoth(first)
  const second = await startWorker('two')
  await arrived(3)
  gate.resolve()
  assert.is((await answersOf(anna, id)).at(-1), 'The end.')
  assert.equal(treeOf(workOf(second)), before)
  assert.is(readFileSync(join(cellDir(second, 'anna'), '.toolrc'), 'utf8'), 'ini\n')
  for (const name of ['node_modules', 'target', 'big.bin'])
    assert.not.ok(existsSync(join(workOf(second), name)), name)
  execFileSync('git', ['-C', workOf(second), 'fsck', '--strict'], { stdio: 'ignore' })
  // What did not follow is named, once: to the person in the turn that continued, to the model with the next message.
  const warned: string[] = []
  for await (const { event, data } of anna.events(
    `/api/chat/stream?stream_id=${started.body.stream_id}`,
  )) {
    if (event === 'warning') warned.push(JSON.stringify(data))
    if (event === 'stream_end') break
  }
  assert.is(warned.filter(each => /turn\.files_not_moved.*big\.bin/.test(each)).length, 1)
  provider.push({ text: 'I see.' })
  await anna.post('/api/chat/start', { session_id: id, message: 'go on' })
  await answersOf(anna, id)
  const asked = provider.requests.flatMap(({ body: sent }) => {
    const last = JSON.stringify(sent.messages.at(-1))
    return /go on/.test(last) ? [last] : []
  })
  assert.match(
    asked[0] ?? '',
    /did not follow and are missing or older here: big\.bin, node_modules, target\]/,
  )

  // Changed there and deleted there; then back to the first one.
  provider.push(command('echo changed > plan.md; rm run.sh; rmdir sub/empty'), { text: 'Done.' })
  await anna.post('/api/chat/start', { session_id: id, message: 'change' })
  await until(
    async () =>
      (await anna.get(`/api/session?session_id=${id}`)).body.session.is_streaming === false,
    'the end of the turn',
  )
  const changed = treeOf(workOf(second))
  const back = await startWorker('one', {}, first.dir)
  await directory.move('anna', 'one')
  // It is taken to the first machine before it serves anyone there.
  await until(
    async () => isDeepStrictEqual(treeOf(workOf(back)), changed),
    'the work on the first machine',
  )
  assert.is(lstatSync(join(workOf(back), 'big.bin')).size, 129 << 20)
  assert.ok(existsSync(join(workOf(back), 'node_modules', 'x', 'index.js')))
})

proof.run()
