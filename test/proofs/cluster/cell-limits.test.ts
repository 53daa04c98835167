/** What a cell may use of its machine: groups of the system, and by effect what holds without them. */
import { spawn } from 'node:child_process'
import {
  accessSync,
  appendFileSync,
  chmodSync,
  constants,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { parseCluster } from '../../../lib/base/cluster-settings.ts'
import { CellGroups, ownGroup } from '../../../lib/cli/cell-groups.ts'
import { CellLimits } from '../../../lib/cli/cell-limits.ts'
import {
  add,
  answersOf,
  as,
  cellDir,
  launchMember,
  provider,
  startForwarder,
  startWorker,
  useModel,
  workersSuite,
} from './_workers.ts'
import { openDir, whyNoUsers } from './_cell-users.ts'

/** A directory that has the files of a group; what the system does with them is not in it. */
const plainGroup = (controllers: string, processes: string): string => {
  const dir = mkdtempSync(join(tmpdir(), 'group-'))
  for (const [name, content] of Object.entries({
    type: 'domain',
    controllers,
    procs: processes,
    subtree_control: '',
  }))
    writeFileSync(join(dir, `cgroup.${name}`), `${content}\n`)
  return dir
}

test('a group for each cell gets its limits; what is no delegated group says why', () => {
  const dir = plainGroup('cpuset cpu io memory pids', String(process.pid))
  const groups = CellGroups.open(dir)
  if (typeof groups === 'string') throw new Error(groups)
  const read = (name: string) => readFileSync(join(dir, name), 'utf8')
  assert.is(read('cgroup.subtree_control'), '+memory +pids +cpu')
  assert.is(read('worker/cgroup.procs'), String(process.pid))
  groups.hold('anna', 4321, { memoryBytes: 2 ** 30, processes: 0 })
  assert.equal(
    ['memory.max', 'pids.max', 'cgroup.procs'].map(name => read(`cell-anna/${name}`)),
    [String(2 ** 30), 'max', '4321'],
  )
  groups.end('anna')
  assert.is(read('cell-anna/cgroup.kill'), '1')
  groups.end('nobody')
  const refused: [dir: string | null, why: RegExp][] = [
    [null, /has no cgroup v2/],
    [mkdtempSync(join(tmpdir(), 'group-')), /in no group of its own/],
    [plainGroup('cpu pids', String(process.pid)), /lacks memory$/],
    [plainGroup('memory pids', `1\n${process.pid}`), /other programs are in the group/],
  ]
  for (const [group, why] of refused) {
    assert.match(String(CellGroups.open(group)), why)
    assert.not.ok(group && existsSync(join(group, 'worker')))
    if (group) rmSync(group, { recursive: true })
  }
  rmSync(dir, { recursive: true })
})

test('a limit that cannot be held is refused where it was asked for, and named where it was not', () => {
  const limitsOf = (env: Record<string, string>, path = process.env.PATH ?? '') => {
    const given: Record<string, string> = { URL: 'postgres://test@127.0.0.1/test', ...env }
    const cluster = parseCluster(
      name => given[name] ?? '',
      () => '',
    )
    if (!cluster) throw new Error('no cluster')
    return new CellLimits(cluster, path, null)
  }
  assert.match(
    limitsOf({}).sentence,
    /any memory, any number of processes, and 10 GB of the disk.*has no cgroup v2/,
  )
  assert.throws(
    () => limitsOf({ PROCESSES: '100' }),
    /PROCESSES cannot be held.*AGENT_WEBUI_CLUSTER_USERS/,
  )
  assert.throws(() => limitsOf({ USERS: 'shared', PROCESSES: '100' }), /cannot be held/)
  assert.throws(() => limitsOf({ MEMORY: '1G' }, '/nowhere'), /MEMORY cannot be held.*prlimit/)
  const users = limitsOf({ USERS: '200000-200001', MEMORY: '1G', DISK: '0' })
  assert.equal(users.prefix.slice(1), ['--nproc=4096', `--data=${2 ** 30}`, '--'])
  assert.match(
    users.sentence,
    /1 GB of memory in each process, 4096 processes, and all of the disk/,
  )
  assert.equal(limitsOf({ USERS: '200000-200001', PROCESSES: '0', DISK: '0' }).prefix, [])
})

/** The groups of the whole machine, where this user may make one. */
const top = ((): string | null => {
  const own = ownGroup()
  try {
    if (own !== null) accessSync(join(own, 'cgroup.subtree_control'), constants.W_OK)
    return own
  } catch {
    return null
  }
})()

if (top === null) test.skip('no group of this system can be written', () => undefined)
else
  test('the system puts what a cell starts into its group, and ends it with it', async () => {
    const group = join(top, `agent-webui-proof-${process.pid}`)
    mkdirSync(group)
    // Of those that this machine has left to groups of this kind.
    const [controller] = readFileSync(join(group, 'cgroup.controllers'), 'utf8').trim().split(' ')
    const script = `
      import { readFileSync, writeFileSync } from 'node:fs'
      import { spawn } from 'node:child_process'
      const dir = ${JSON.stringify(group)}
      writeFileSync(dir + '/cgroup.procs', String(process.pid))
      const { CellGroups, ownGroup } = await import(${JSON.stringify(join(import.meta.dirname, '../../../lib/cli/cell-groups.ts'))})
      if (ownGroup() !== dir) throw new Error('another group: ' + ownGroup())
      const groups = CellGroups.open(ownGroup(), ${JSON.stringify(controller ? [controller] : [])})
      if (typeof groups === 'string') throw new Error(groups)
      const cell = spawn('sh', ['-c', 'read go; setsid sleep 100 & sleep 100 & cat /proc/self/cgroup; wait'], { stdio: ['pipe', 'pipe', 'inherit'] })
      try { groups.hold('anna', cell.pid, { memoryBytes: 0, processes: 0 }) } catch (error) {
        // The files of controllers that this machine lacks cannot be made.
        if (error.code !== 'EACCES' && error.code !== 'EPERM' && error.code !== 'ENOENT') throw error
        writeFileSync(dir + '/cell-anna/cgroup.procs', String(cell.pid))
      }
      cell.stdin.write('go\\n')
      const [said] = await new Promise(resolve => cell.stdout.once('data', data => resolve([String(data)])))
      const own = readFileSync('/proc/self/cgroup', 'utf8')
      const held = readFileSync(dir + '/cell-anna/cgroup.procs', 'utf8').trim().split('\\n').map(Number)
      const ended = new Promise(resolve => cell.once('exit', (code, signal) => resolve(signal)))
      groups.end('anna')
      console.log(JSON.stringify({ said, own, held, signal: await ended }))
    `
    const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const { said, own, held, signal } = JSON.parse(await text(child.stdout))
    assert.match(said, /^0::.*\/cell-anna$/m)
    assert.match(own, /^0::.*\/worker$/m)
    // A shell and two programs, one of which has left its group of processes.
    assert.ok(held.length >= 3)
    assert.is(signal, 'SIGKILL')
    for (const pid of held) assert.not.ok(existsSync(`/proc/${pid}/cwd`), `${pid} runs on`)
    for (const name of readdirSync(group, { withFileTypes: true }))
      if (name.isDirectory()) rmdirSync(join(group, name.name))
    rmdirSync(group)
  })

test.run()

const proof = workersSuite('limits of cells by effect', whyNoUsers())

proof('one cell reaches its limits, and its neighbor works on', async () => {
  for (const name of ['anna', 'ben']) await add(name)
  const limits = {
    AGENT_WEBUI_CLUSTER_USERS: '211000-211001',
    AGENT_WEBUI_CLUSTER_PROCESSES: '100',
    AGENT_WEBUI_CLUSTER_MEMORY: '768M',
    AGENT_WEBUI_CLUSTER_DISK: '512M',
  }
  const worker = await startWorker('one', limits, openDir())
  const forwarder = await startForwarder()
  const [anna, ben] = [as('anna', forwarder), as('ben', forwarder)]
  await anna.get('/api/sessions')
  useModel(worker, 'anna')
  const config = join(cellDir(worker, 'anna'), 'home', 'config.yaml')
  appendFileSync(config, 'approvals:\n  mode: off\nsandbox:\n  enabled: off\n')
  const probe = [
    'truncate -s 600M large; ls -s large',
    `'${process.execPath}' -e 'const all = []; for (let n = 0; n < 20; n++) all.push(Buffer.alloc(2 ** 26, 1)); console.log("had it all")'; echo "memory $?"`,
    'for n in $(seq 150); do sleep 20 & done; echo forked all',
  ].join('\n')
  writeFileSync(join(cellDir(worker, 'anna'), 'workspace', 'probe.sh'), probe)
  chmodSync(join(cellDir(worker, 'anna'), 'workspace', 'probe.sh'), 0o755)
  const command = 'sh ./probe.sh 2>&1 | tail -c 2000'
  provider.push({ toolCalls: [{ id: 'c1', name: 'terminal', arguments: { command } }] })
  const { body } = await anna.post('/api/session/new', {})
  const id: string = body.session.session_id
  await anna.post('/api/chat/start', { session_id: id, message: 'use everything' })
  const [, , result = ''] = await answersOf(anna, id)
  assert.match(result, /File too large|File size limit exceeded/)
  assert.match(result, /memory [1-9]/)
  assert.not.match(result, /had it all|forked all/)
  assert.match(result, /[Cc]annot fork|Resource temporarily unavailable/)
  // Neither the engine of the cell nor the neighbor was ended.
  assert.is((await anna.get('/api/sessions')).status, 200)
  assert.is((await ben.post('/api/session/new', {})).status, 200)
  assert.not.match(worker.program.output(), /The cell anna ended/)
})

proof('a worker that cannot hold what it was told ends with the reason', async () => {
  const worker = launchMember('two', ['worker'], { AGENT_WEBUI_CLUSTER_PROCESSES: '100' })
  assert.is(await worker.program.exited, 78)
  assert.match(worker.program.output(), /PROCESSES cannot be held/)
})

proof.run()
