/** The sandbox on macOS: profiles are read and evaluated here, and a program like sandbox-exec is started. Never on a Mac. */
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { once } from 'node:events'
import { connect } from 'node:net'
import { dirname, join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { killGroup, spawnGroup, waitForClose } from '../../../../lib/base/process.ts'
import { checkSandbox } from '../../../../lib/commands/sandbox/availability.ts'
import type { Access, Mount } from '../../../../lib/commands/sandbox/mounts.ts'
import { seatbeltArguments } from '../../../../lib/commands/sandbox/seatbelt.ts'
import { git } from '../../../_git.ts'
import { createTree, reachTable, type Tree, type TreeOptions } from './_sandbox.ts'
import { createPolicy, parseCall, parseProfile } from './_seatbelt.ts'
import { tempDir } from '../../../_temp-dir.ts'

const test = suite('sandbox on macOS')

const FAKE = join(import.meta.dirname, '_sandbox-exec.ts')
const dir = realpathSync(tempDir('sandbox-exec'))
const program = join(dir, 'sandbox-exec')
const quote = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`
writeFileSync(
  program,
  `#!/bin/sh\nexec ${quote(process.execPath)} ${quote(FAKE)} ${quote(dir)} "$@"\n`,
)
chmodSync(program, 0o755)
/** Starts faster: for tests that only look at the profile. */
const quick = join(dir, 'quick')
writeFileSync(quick, '#!/bin/sh\n')
chmodSync(quick, 0o755)
writeFileSync(join(dir, 'refusal'), '')

const calls = (): { pid: number; args: string[] }[] =>
  readFileSync(join(dir, 'calls.jsonl'), 'utf8')
    .trim()
    .split('\n')
    .map(line => JSON.parse(line))

const using = async (work: (tree: Tree) => Promise<void>, options: TreeOptions = {}) => {
  using tree = createTree({ system: { kind: 'seatbelt', program: quick }, ...options })
  await work(tree)
}

const running = (work: (tree: Tree) => Promise<void>, options: TreeOptions = {}) =>
  using(work, { ...options, system: { kind: 'seatbelt', program } })

const policyOf = (mounts: Mount[], hasNetwork = false) =>
  createPolicy(parseCall([...seatbeltArguments({ mounts, hasNetwork }), '--', 'true']))

/** The policy of a command in a tree. */
const policyIn = async (tree: Tree, { changesGit = false, network = false } = {}) => {
  const placed = await tree.runner.place({
    program: { file: 'true', args: [] },
    cwd: tree.workspace,
    env: tree.env,
    access: network ? 'network' : 'confined',
    changesGit,
  })
  return { ...createPolicy(parseCall(placed.args)), placed }
}

type Policy = ReturnType<typeof createPolicy>
const canRead = ({ allows }: Policy, path: string) => allows({ operation: 'file-read-data', path })
const canWrite = ({ allows }: Policy, path: string) =>
  allows({ operation: 'file-write-data', path })
const canMove = ({ allows }: Policy, path: string) =>
  allows({ operation: 'file-write-unlink', path })

const odd = [
  '"',
  "'",
  '\\',
  '(',
  ')',
  ';',
  '#',
  '\n',
  '\t',
  ' ',
  '=',
  '#"',
  '\\"',
  'é',
  '😀',
  '$',
  '*',
  '^',
  '|',
  '-D',
  '(param',
  '..x',
  '.',
]
/** The same paths on every run. */
const randomPaths = (count: number): string[] => {
  let seed = 7
  const next = (below: number) => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648
    return Math.floor((seed / 2_147_483_648) * below)
  }
  const name = () =>
    `n${Array.from({ length: 1 + next(5) }, () => odd[next(odd.length)]).join('')}${next(100)}`
  return Array.from(
    { length: count },
    () => `/${Array.from({ length: 1 + next(4) }, name).join('/')}`,
  )
}

test('the profile of any path is balanced, has none of its characters, and protects exactly that path', () => {
  const kinds: Access[] = ['read', 'write', 'hide']
  const paths = randomPaths(600)
  const expected = seatbeltArguments({
    mounts: [{ path: '/a', access: 'write' }],
    hasNetwork: false,
  })
  for (const [at, path] of paths.entries()) {
    const access = kinds[at % 3] ?? 'read'
    const args = seatbeltArguments({ mounts: [{ path, access }], hasNetwork: false })
    const [, profile = ''] = args
    parseProfile(profile)
    const policy = policyOf([{ path, access }])
    assert.is(canRead(policy, `${path}/x`), access !== 'hide', path)
    assert.is(canWrite(policy, `${path}/x`), access === 'write', path)
    for (const near of [`${path}x`, path.slice(0, -1), dirname(path)])
      assert.not.ok(canWrite(policy, near) || (near !== '/' && canRead(policy, near)), path)
    if (access === 'write' && dirname(path) === '/') assert.is(profile, expected[1])
  }
})

test('of nested paths the inner one decides, in whatever order they are given', () => {
  const mounts: Mount[] = [
    { path: '/w/secret/shown', access: 'read' },
    { path: '/w', access: 'write' },
    { path: '/w/secret', access: 'hide' },
    { path: '/w/secret/shown/drafts', access: 'write' },
  ]
  for (const order of [mounts, mounts.toReversed()]) {
    const policy = policyOf(order)
    const found = [
      '/w/a',
      '/w/secret/a',
      '/w/secret/shown/a',
      '/w/secret/shown/drafts/a',
      '/x',
    ].map(path => [canRead(policy, path), canWrite(policy, path)])
    assert.equal(found, [
      [true, true],
      [false, false],
      [true, false],
      [true, true],
      [false, false],
    ])
  }
})

test('a protected path keeps its name: neither it, nor what contains it, can be moved, nor linked', () => {
  const policy = policyOf([
    { path: '/w', access: 'write' },
    { path: '/w/a/b/kept', access: 'read' },
    { path: '/w/c/secret', access: 'hide' },
  ])
  for (const path of [
    '/',
    '/w',
    '/w/a',
    '/w/a/b',
    '/w/a/b/kept',
    '/w/a/b/kept/x',
    '/w/c',
    '/w/c/secret',
  ])
    assert.not.ok(canMove(policy, path), path)
  for (const path of ['/w/x', '/w/a/x', '/w/a/b/x', '/w/c/x'])
    assert.ok(canMove(policy, path), path)
  for (const path of ['/w/x', '/w/a/b/kept'])
    assert.not.ok(policy.allows({ operation: 'file-link', path }))
})

for (const changesGit of [false, true])
  test(`reaches what the table of bubblewrap says${changesGit ? ', as a command that may change the Git directory' : ''}`, () =>
    using(async tree => {
      const policy = await policyIn(tree, { changesGit })
      const table = reachTable(tree, changesGit)
      const reached = table.map(({ path }) => ({
        path,
        read: canRead(policy, path),
        write: canWrite(policy, path),
      }))
      assert.equal(reached, table)
      for (const name of ['.git', '.git/hooks', '.vscode', 'hidden', '.'])
        assert.not.ok(canMove(policy, join(tree.workspace, name)), name)
      assert.ok(canMove(policy, join(tree.workspace, 'README.md')))
    }))

test('Git changes a private directory, which is taken over', () =>
  running(async tree => {
    const place = { changesGit: true }
    const { code, stderr } = await tree.sh('git add README.md && git commit -qm one', place)
    assert.is(code, 0, stderr)
    assert.is(git(tree.workspace, 'log', '--format=%s'), 'one')
    assert.is(git(tree.workspace, 'status', '--porcelain', 'README.md'), '')
    const { allows, placed } = await policyIn(tree, place)
    const { GIT_DIR = '' } = placed.env
    assert.ok(allows({ operation: 'file-write-data', path: join(GIT_DIR, 'HEAD') }))
    await placed.onEnd?.()
    assert.not.ok(existsSync(GIT_DIR))
  }))

test('a workspace without repository: a command cannot make one, with its configuration', () =>
  using(async tree => {
    rmSync(join(tree.workspace, '.git'), { recursive: true })
    const policy = await policyIn(tree)
    assert.not.ok(canWrite(policy, join(tree.workspace, '.git')))
    assert.not.ok(canWrite(policy, join(tree.workspace, '.git', 'config')))
  }))

test('the system is readable, the rest of the computer is not', () =>
  using(async tree => {
    const policy = await policyIn(tree)
    for (const path of ['/usr/bin/git', '/private/etc/hosts', '/System/Library/Frameworks/x'])
      assert.equal([canRead(policy, path), canWrite(policy, path)], [true, false], path)
    for (const path of [
      '/Users/other/file',
      '/System/Volumes/Data/Users/other/file',
      '/Library/Keychains/System.keychain',
      '/Volumes/disk/file',
      '/private/var/folders/aa/T/file',
      '/private/tmp/file',
      '/private/var/db/dslocal/nodes',
      '/dev/disk0',
      '/dev/ttys001',
      '/dev/tty',
    ])
      assert.equal([canRead(policy, path), canWrite(policy, path)], [false, false], path)
    for (const path of ['/dev/null', '/dev/fd/3']) assert.ok(canWrite(policy, path), path)
    assert.ok(
      policy.allows({
        operation: 'file-write-data',
        path: '/dev/ttys001',
        name: 'com.apple.sandbox.pty',
      }),
    )
    for (const path of ['/', '/tmp', '/private', tree.root, tree.home])
      assert.ok(policy.allows({ operation: 'file-read-metadata', path }), path)
    assert.not.ok(policy.allows({ operation: 'file-read-metadata', path: join(tree.home, '.ssh') }))
    assert.not.ok(canRead(policy, tree.home))
  }))

test('programs start and signal each other; no service is asked that acts for them', () =>
  using(async tree => {
    const { allows } = await policyIn(tree)
    for (const operation of [
      'process-exec',
      'process-fork',
      'sysctl-read',
      'ipc-posix-sem',
      'pseudo-tty',
    ])
      assert.ok(allows({ operation }), operation)
    assert.ok(allows({ operation: 'signal', name: 'same-sandbox' }))
    assert.not.ok(allows({ operation: 'signal', name: 'others' }))
    const look = (name: string) => allows({ operation: 'mach-lookup', name })
    assert.ok(look('com.apple.system.opendirectoryd.libinfo'))
    for (const name of [
      'com.apple.coreservices.launchservicesd',
      'com.apple.coreservices.appleevents',
      'com.apple.SecurityServer',
      'com.apple.securityd.xpc',
      'com.apple.pasteboard.1',
      'com.apple.dnssd.service',
    ])
      assert.not.ok(look(name), name)
  }))

test('a proxy: its port of this computer and no other, and no service that would connect for the command', () => {
  const args = seatbeltArguments({ mounts: [], hasNetwork: false, proxyPort: 4_321 })
  const { allows } = createPolicy(parseCall([...args, '--', 'true']))
  const operation = 'network-outbound'
  assert.ok(allows({ operation, ip: 'localhost:4321' }))
  for (const ip of ['localhost:4322', '10.0.0.1:4321', '127.0.0.2:4321'])
    assert.not.ok(allows({ operation, ip }), ip)
  for (const operation of ['network-bind', 'network-inbound'])
    assert.not.ok(allows({ operation, ip: 'localhost:4321' }))
  for (const name of ['trustd', 'trustd.agent', 'ocspd', 'dnssd.service', 'networkd'])
    assert.not.ok(allows({ operation: 'mach-lookup', name: `com.apple.${name}` }), name)
  assert.not.ok(allows({ operation, path: '/private/var/run/mDNSResponder' }))
})

test('a command that may ask has the port of its proxy, which the end of the command closes', () =>
  using(async tree => {
    const placed = await tree.runner.place({
      program: { file: 'true', args: [] },
      cwd: tree.workspace,
      env: tree.env,
      access: 'confined',
      onTarget: async () => null,
    })
    const { port } = new URL(placed.env.HTTPS_PROXY ?? '')
    const { allows } = createPolicy(parseCall(placed.args))
    assert.ok(allows({ operation: 'network-outbound', ip: `localhost:${port}` }))
    const connects = async () => {
      const socket = connect(Number(port), '127.0.0.1')
      try {
        await once(socket, 'connect')
        return true
      } catch {
        return false
      } finally {
        socket.destroy()
      }
    }
    assert.ok(await connects())
    placed.onEnd?.()
    assert.not.ok(await connects())
  }))

test('no network without access to it; sockets in the workspace only', () =>
  using(async tree => {
    const without = await policyIn(tree)
    const withNetwork = await policyIn(tree, { network: true })
    for (const operation of ['network-outbound', 'network-bind', 'network-inbound']) {
      assert.not.ok(without.allows({ operation, ip: 'localhost:80' }))
      assert.ok(withNetwork.allows({ operation, ip: 'localhost:80' }))
    }
    const resolver = { operation: 'network-outbound', path: '/private/var/run/mDNSResponder' }
    assert.equal([without.allows(resolver), withNetwork.allows(resolver)], [false, true])
    for (const { allows } of [without, withNetwork]) {
      const connects = (path: string) => allows({ operation: 'network-outbound', path })
      assert.ok(connects(join(tree.workspace, 'dev.sock')))
      for (const path of [
        '/private/var/run/docker.sock',
        '/private/tmp/com.apple.launchd.x/Listeners',
        join(tree.agentHome, 'webui', 'service.sock'),
        join(tree.workspace, 'hidden', 'x.sock'),
      ])
        assert.not.ok(connects(path), path)
      assert.not.ok(
        allows({ operation: 'network-bind', path: join(tree.workspace, '.git/hooks/x') }),
      )
    }
  }))

test('the private directories are real ones that variables name; tools of the home are links in it', () =>
  using(async tree => {
    mkdirSync(join(tree.home, '.cargo', 'bin'), { recursive: true })
    const { placed, ...policy } = await policyIn(tree)
    const { HOME = '', TMPDIR = '' } = placed.env
    for (const path of [HOME, TMPDIR]) {
      assert.ok(existsSync(path))
      assert.is(realpathSync(path), path)
      assert.ok(canWrite(policy, join(path, 'x')) && !canMove(policy, path))
      assert.is(tree.runner.reach?.(join(path, 'x')), 'write')
    }
    assert.match(readFileSync(join(HOME, '.gitconfig'), 'utf8'), 'Ada')
    assert.ok(lstatSync(join(HOME, '.cargo')).isSymbolicLink())
    const cargo = join(tree.home, '.cargo', 'bin', 'cargo')
    assert.equal([canRead(policy, cargo), canWrite(policy, cargo)], [true, false])
    assert.is(tree.runner.hostPath('/tmp/x'), '/tmp/x')
  }))

test('a workspace behind a symlink is allowed by its real name', () =>
  using(
    async tree => {
      const policy = await policyIn(tree)
      assert.ok(canWrite(policy, join(tree.workspace, 'x')))
      assert.not.ok(canWrite(policy, join(tree.workspace, '.git', 'config')))
      assert.ok(policy.allows({ operation: 'file-read-metadata', path: join(tree.root, 'alias') }))
    },
    { workspaceOf: 'alias' },
  ))

test('a command runs through sandbox-exec: its directory, variables, output, and exit code', () =>
  running(
    async tree => {
      const secret = 'token-of-this-test'
      const { stdout, code } = await tree.sh(
        'pwd; echo "$TOKEN $HOME $DYLD_X$SSH_AUTH_SOCK"; exit 7',
      )
      const { pid, args } = calls().at(-1) ?? { pid: 0, args: [] }
      assert.ok(pid > 0)
      assert.is(code, 7)
      const { HOME } = (await policyIn(tree)).placed.env
      assert.is(String(stdout), `${tree.workspace}\n${secret} ${HOME} \n`)
      assert.not.match(args.join('\n'), secret)
      assert.equal(parseCall(args).program.slice(0, 2), ['bash', '-c'])
    },
    {
      env: {
        PATH: process.env.PATH ?? '',
        TOKEN: 'token-of-this-test',
        DYLD_X: 'evil',
        SSH_AUTH_SOCK: '/run/agent.sock',
      },
    },
  ))

test('a stop reaches the command, which may end by itself', () =>
  running(async tree => {
    const script =
      "trap 'echo saved > saved.txt; exit 3' TERM; echo on; while :; do sleep 0.05; done"
    const { file, args, ...placed } = await tree.runner.place({
      program: { file: 'bash', args: ['-c', script] },
      cwd: tree.workspace,
      env: tree.env,
      access: 'confined',
    })
    const child = spawnGroup(file, args, { ...placed, stdio: ['pipe', 'pipe', 'pipe'] })
    const closed = waitForClose(child)
    await once(child.stdout ?? child, 'data')
    killGroup(child, 'SIGTERM')
    assert.equal((await closed).code, 3)
    assert.ok(existsSync(join(tree.workspace, 'saved.txt')))
  }))

test('where sandbox-exec is missing or fails, the cause is named and commands are refused', async () => {
  const missing = await checkSandbox({}, { kind: 'seatbelt', program: '/nowhere/sandbox-exec' })
  assert.match(String(missing.problem), 'is missing')
  writeFileSync(join(dir, 'refusal'), 'sandbox_apply: Operation not permitted')
  try {
    await running(async tree => {
      assert.match(String(await tree.runner.problem()), 'sandboxes cannot be nested')
      assert.match(await tree.sh('true').catch(error => error.message), 'cannot be nested')
      writeFileSync(join(dir, 'refusal'), 'unbound variable: file-fly')
      const other = await checkSandbox({}, { kind: 'seatbelt', program })
      assert.match(String(other.problem), 'unbound variable: file-fly')
    })
  } finally {
    writeFileSync(join(dir, 'refusal'), '')
  }
})

test('a symlink that a command made leads to no more', () =>
  using(async tree => {
    symlinkSync(join(tree.home, '.ssh'), join(tree.workspace, '.idea'))
    const policy = await policyIn(tree)
    assert.not.ok(canRead(policy, join(tree.home, '.ssh', 'id_ed25519')))
  }))

test.run()
