/** The sandbox as a wall: what a command tries from inside changes nothing outside, byte for byte, and reads no secret. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { hostname } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { killGroup, spawnGroup, waitForClose } from '../../../lib/base/process.ts'
import { gitDirectories } from '../../../lib/commands/sandbox/git-directories.ts'
import {
  createTree,
  reachTable,
  reason,
  SECRET,
  snapshot,
  type Tree,
  type TreeOptions,
} from '../../lib/commands/sandbox/_sandbox.ts'

const FULL = process.env.PROOF === 'full'
const ESCAPE = join(import.meta.dirname, '_escape.mjs')

const wall = suite('escape from the sandbox')
const test = reason === null ? wall : wall.skip

/** What must stay as it is: everything but the files of the workspace that commands may change. */
const outside = (tree: Tree) => snapshot(tree.root, [tree.workspace])
const kept = (tree: Tree) => [
  ...snapshot(join(tree.workspace, '.git')),
  ...snapshot(join(tree.workspace, '.vscode')),
  ...snapshot(join(tree.workspace, 'hidden')),
]

const using = async (work: (tree: Tree) => Promise<void>, options = {}): Promise<void> => {
  const tree = createTree(options)
  try {
    await work(tree)
  } finally {
    tree.close()
  }
}

const attack = async (tree: Tree, changesGit: boolean) => {
  const targets = [
    join(tree.home, '.ssh', 'id_ed25519'),
    join(tree.home, '.bashrc'),
    join(tree.home, '.aws', 'credentials'),
    join(tree.home, 'Documents', 'letter.txt'),
    join(tree.agentHome, '.env'),
    join(tree.agentHome, 'config.yaml'),
    join(tree.agentHome, 'webui', 'settings.json'),
    join(tree.root, 'outside', 'file.txt'),
    join(tree.shown, 'file.txt'),
    join(tree.workspace, 'hidden', 'file.txt'),
    join(tree.workspace, '.git', 'hooks', 'pre-commit'),
    join(tree.workspace, '.git', 'config'),
    join(tree.workspace, '.vscode', 'tasks.json'),
  ].map(path => ({ path }))
  const given = { targets, workspace: tree.workspace, secret: SECRET, limit: FULL ? 1e9 : 2_500 }
  const { stdout, stderr, code } = await tree.exec(
    process.execPath,
    [ESCAPE, JSON.stringify(given)],
    { changesGit, readable: [import.meta.dirname] },
  )
  assert.is(code, 0, stderr)
  return JSON.parse(String(stdout)) as { count: number; leaks: string[]; writes: string[] }
}

test('more than a thousand ways to read or change a file outside: none works', () =>
  using(async tree => {
    const [before, keptBefore] = [outside(tree), kept(tree)]
    const { count, leaks } = await attack(tree, false)
    assert.ok(count > 1_000)
    console.log(`  ${count} attempts`)
    assert.equal(leaks, [])
    assert.equal([...outside(tree)], [...before])
    assert.equal(kept(tree), keptBefore)
  }))

test('a command that may change the Git directory cannot change its hooks and configuration', () =>
  using(async tree => {
    const before = outside(tree)
    const git = (name: string) => [...snapshot(join(tree.workspace, '.git', name))]
    const [hooks, config] = [git('hooks'), git('config')]
    await attack(tree, true)
    assert.equal([...outside(tree)], [...before])
    assert.equal([git('hooks'), git('config')], [hooks, config])
    const commit = await tree.sh(
      'touch new && git add new && git commit -qm test && git log --oneline | cat',
      {
        changesGit: true,
      },
    )
    assert.match(`${commit.stdout}`, 'test')
  }))

test('without permission to change the Git directory, git can read and not write', () =>
  using(async tree => {
    const read = await tree.sh('git status --short && git config user.name')
    assert.match(String(read.stdout), 'Ada')
    const write = await tree.sh('git commit --allow-empty -qm x')
    assert.is.not(write.code, 0)
    assert.match(write.stderr, 'Read-only file system')
  }))

for (const changesGit of [false, true])
  test(`reaches what the table says${changesGit ? ', as a command that may change the Git directory' : ''}`, () =>
    using(async tree => {
      const table = reachTable(tree, changesGit)
      const texts = table.map(({ path }) => readFileSync(path, 'utf8'))
      const script = `
        const fs = require('node:fs'), { spawnSync } = require('node:child_process')
        const read = path => { try { return fs.readFileSync(path, 'utf8') } catch { return null } }
        const paths = JSON.parse(process.argv[1])
        const found = paths.map(read)
        for (const path of paths) spawnSync('sh', ['-c', 'printf "#" >> "$0"', path])
        console.log(JSON.stringify(found))`
      const paths = JSON.stringify(table.map(({ path }) => path))
      const { stdout, stderr } = await tree.exec(process.execPath, ['-e', script, paths], {
        changesGit,
      })
      const found: (string | null)[] = JSON.parse(String(stdout) || stderr)
      const reached = table.map(({ path }, at) => ({
        path,
        read: found[at] === texts[at],
        write: readFileSync(path, 'utf8') !== texts[at],
      }))
      assert.equal(reached, table)
    }))

test('symlinks that a command makes are not followed by the next one', () =>
  using(async tree => {
    await tree.sh(
      `ln -s ${tree.home}/.ssh .idea; ln -s ${tree.home} .claude; printf 'gitdir: ${tree.home}/.ssh' > .mcp.json`,
    )
    const { stdout } = await tree.sh('cat .idea/* .claude/.bashrc')
    assert.not.match(String(stdout), SECRET)
  }))

test('a .git file that names a directory outside does not make it visible', () =>
  using(async tree => {
    const inner = join(tree.workspace, 'inner')
    mkdirSync(inner)
    writeFileSync(join(inner, '.git'), `gitdir: ${tree.agentHome}\n`)
    const other = createTree()
    other.close()
    const { stdout } = await tree.sh(`cat ${tree.agentHome}/.env inner/.git`)
    assert.not.match(String(stdout), SECRET)
  }))

test('kernel settings, devices, and new namespaces', () =>
  using(async tree => {
    const { stdout } = await tree.sh(
      [
        // Opened for writing without truncation and closed again: nothing is ever written.
        'for f in /proc/sys/kernel/core_pattern /proc/sys/kernel/hostname /proc/sys/vm/drop_caches /proc/sysrq-trigger /sys/kernel/uevent_helper /sys/power/state; do [ ! -e $f ] || (exec 3<>$f) 2>/dev/null && [ -e $f ] && echo "opened $f"; done',
        'mount -t tmpfs x /tmp 2>/dev/null && echo mounted',
        'mount -o remount,rw / 2>/dev/null && echo remounted',
        'umount /proc/sys 2>/dev/null && echo unmounted',
        'unshare -U true 2>/dev/null && echo unshare',
        'unshare -m true 2>/dev/null && echo unshare-mount',
        'nsenter -t 1 -m true 2>/dev/null && echo nsenter',
        'chroot / true 2>/dev/null && echo chroot',
        'mknod /tmp/disk b 8 0 2>/dev/null && echo mknod',
        '(exec 3<>/dev/tty) 2>/dev/null && echo tty',
        'ls /dev/sd* /dev/vd* /dev/mem /dev/kmsg 2>/dev/null && echo devices',
        'bwrap --bind / / true 2>/dev/null && echo bwrap',
        'grep -q "CapEff:.*[1-9a-f]" /proc/self/status && echo capabilities',
        'setpriv --reuid 1 true 2>/dev/null && echo setuid',
        'true',
      ].join('\n'),
    )
    assert.is(String(stdout), '')
  }))

test('sees no process outside and cannot signal one', () =>
  using(async tree => {
    const other = spawn('sleep', ['60'], { stdio: 'ignore' })
    try {
      const { stdout } = await tree.sh(
        `kill -9 ${other.pid} ${process.pid} 2>/dev/null && echo killed; cat /proc/${process.pid}/environ /proc/${other.pid}/cmdline 2>/dev/null; ls /proc | grep -c '^[0-9]'; tr '\\0' '\\n' < /proc/1/environ | grep -c SHOULD_NOT`,
      )
      const [processes, leaked] = String(stdout).trim().split('\n')
      assert.ok(Number(processes) < 10, String(stdout))
      assert.is(leaked, '0')
      await tree.sh('kill -9 -1; kill -9 1')
      assert.is(other.exitCode, null)
    } finally {
      other.kill('SIGKILL')
    }
  }))

test('no network: neither TCP to this machine, nor DNS, nor raw, abstract, and path sockets', () =>
  using(async tree => {
    const reached: string[] = []
    const listen = async (where: { port: number; host: string } | { path: string }) => {
      const server = createServer(socket => {
        reached.push(JSON.stringify(where))
        socket.destroy()
      })
      server.listen(where)
      await once(server, 'listening')
      return server
    }
    // Abstract names are shared by everything that runs on this computer.
    const abstractName = `sandbox-test-${process.pid}`
    const tcp = await listen({ port: 0, host: '0.0.0.0' })
    const abstract = await listen({ path: `\0${abstractName}` })
    const file = join(tree.agentHome, 'webui', 'service.sock')
    const path = await listen({ path: file })
    const { port } = tcp.address() as { port: number }
    try {
      const script = `
        const net = require('node:net'), dns = require('node:dns'), dgram = require('node:dgram')
        const tries = [
          { port: ${port}, host: '127.0.0.1' }, { port: ${port}, host: '::1' }, { port: ${port}, host: ${JSON.stringify(hostname())} },
          { path: '\\0${abstractName}' }, { path: ${JSON.stringify(file)} }, { path: '/run/docker.sock' },
          { path: '/var/run/docker.sock' }, { path: '/run/dbus/system_bus_socket' }, { path: '/tmp/.X11-unix/X0' },
        ]
        for (const one of tries) net.connect(one).on('connect', () => console.log('connected', JSON.stringify(one))).on('error', () => {})
        dns.lookup('example.org', error => { if (!error) console.log('resolved') })
        dgram.createSocket('udp4').on('error', () => {}).send('x', 53, '192.0.2.1', error => { if (!error) console.log('sent') })
        setTimeout(() => process.exit(), 1500)`
      const { stdout, stderr } = await tree.exec(process.execPath, ['-e', script])
      assert.is(String(stdout), '', stderr)
      assert.equal(reached, [])
      const raw = await tree.sh(
        'ping -c1 -W1 127.0.0.2 >/dev/null 2>&1; ip -o link 2>/dev/null | wc -l',
      )
      assert.ok(Number(String(raw.stdout).trim()) <= 1)
    } finally {
      for (const server of [tcp, abstract, path]) server.close()
    }
  }))

test('the environment leads to no agent, bus, or display, and no library is loaded outside', () =>
  using(
    async tree => {
      const placement = { program: { file: 'env', args: [] }, cwd: tree.workspace, env: tree.env }
      const placed = await tree.runner.place({ ...placement, access: 'confined' })
      assert.equal(
        Object.keys(placed.env).filter(name => /^LD_|SOCK|DBUS|DISPLAY/.test(name)),
        [],
      )
      const { stdout } = await tree.exec('env', [])
      const inside = String(stdout)
      assert.not.match(inside, /SSH_AUTH_SOCK|DBUS|DISPLAY|XDG_RUNTIME_DIR/)
      assert.match(inside, 'LD_PRELOAD=/nowhere/evil.so')
      assert.match(inside, 'TMPDIR=/tmp')
    },
    {
      env: {
        PATH: process.env.PATH ?? '',
        LD_PRELOAD: '/nowhere/evil.so',
        SSH_AUTH_SOCK: '/run/agent.sock',
        DBUS_SESSION_BUS_ADDRESS: 'unix:path=/run/bus',
        DISPLAY: ':0',
        XDG_RUNTIME_DIR: '/run/user/0',
        TMPDIR: '/elsewhere',
      },
    },
  ))

const MARK = 'sleep 73571.25'
/** Process ids outside whose command line contains the mark. */
const marked = (): string[] =>
  readdirSync('/proc').filter(pid => {
    try {
      return (
        /^\d+$/.test(pid) &&
        readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').startsWith(MARK)
      )
    } catch {
      return false
    }
  })

const startInside = async (tree: Tree, command: string): Promise<ChildProcess> => {
  const program = { file: 'bash', args: ['-c', command] }
  const { file, args, ...placed } = await tree.runner.place({
    program,
    cwd: tree.workspace,
    env: tree.env,
    access: 'confined',
  })
  return spawnGroup(file, args, { ...placed, stdio: ['pipe', 'pipe', 'pipe'] })
}

const later = () => new Promise(resolve => setTimeout(resolve, 5))

const untilGone = async (): Promise<void> => {
  while (marked().length > 0) await later()
}

test('nothing stays behind: neither after the end of a command, nor after it is killed', () =>
  using(async tree => {
    await tree.sh(`setsid nohup ${MARK} >/dev/null 2>&1 & disown`)
    await untilGone()
    for (const killed of ['group', 'bwrap'] as const) {
      const child = await startInside(
        tree,
        `trap '' TERM; setsid ${MARK} & setsid ${MARK} & echo on; wait`,
      )
      const closed = waitForClose(child)
      await once(child.stdout ?? child, 'data')
      while (marked().length < 2) await later()
      if (killed === 'group') killGroup(child, 'SIGKILL')
      else child.kill('SIGKILL')
      await closed
      await untilGone()
    }
  }))

test('a command has a limit of processes of its own', () =>
  using(async tree => {
    const { stdout } = await tree.sh('ulimit -u')
    assert.ok(Number(stdout) <= 4_096, String(stdout))
  }))

test('a polite stop reaches the program inside, which may end by itself', () =>
  using(async tree => {
    const child = await startInside(
      tree,
      "trap 'echo saved > saved.txt; exit 3' TERM; echo on; while :; do sleep 0.05; done",
    )
    const closed = waitForClose(child)
    await once(child.stdout ?? child, 'data')
    killGroup(child, 'SIGTERM')
    assert.equal((await closed).code, 3)
    assert.is(readFileSync(join(tree.workspace, 'saved.txt'), 'utf8'), 'saved\n')
  }))

test('what a running command could replace, because it did not exist at its start, is no mount of the next', () =>
  using(async tree => {
    const [name, saved] = [join(tree.workspace, '.vscode'), join(tree.root, 'saved')]
    const isMounted = async () => {
      const program = { file: 'true', args: [] }
      const { workspace: cwd, env } = tree
      const { args } = await tree.runner.place({ program, cwd, env, access: 'confined' })
      return args.includes(name)
    }
    renameSync(name, saved)
    const child = await startInside(
      tree,
      `echo on; while :; do mv -T .vscode .old; ln -s ${tree.home}/.ssh .vscode; rm .vscode; mv -T .old .vscode; done 2>/dev/null`,
    )
    const closed = waitForClose(child)
    await once(child.stdout ?? child, 'data')
    // Under the name that the loop restores from: `.vscode` can be a link at this moment.
    renameSync(saved, join(tree.workspace, '.old'))
    const before = outside(tree)
    assert.not(await isMounted())
    const command = 'cat .vscode/id_ed25519; echo x > .vscode/id_ed25519'
    const { stdout, stderr } = await tree.sh(command, { changesGit: true })
    assert.not.match(`${stdout}${stderr}`, SECRET)
    killGroup(child, 'SIGKILL')
    await closed
    // It was killed anywhere in its loop: the name can be free, or a link.
    const old = join(tree.workspace, '.old')
    if (existsSync(old)) {
      rmSync(name, { force: true })
      renameSync(old, name)
    }
    // A command that was placed a moment ago counts as running.
    while (!(await isMounted())) await sleep(150)
    assert.equal([...outside(tree)], [...before])
  }))

test('a private home that a command made unusable is replaced', () =>
  using(async tree => {
    mkdirSync(join(tree.home, '.cargo'))
    for (const damage of ['chmod 500 ~', 'chmod 000 ~', 'touch ~/.pyenv', 'ln -s / ~/.volta']) {
      assert.is((await tree.sh(damage)).code, 0, damage)
      // Installed in the meantime, so it is shown from now on.
      const [tool] = /\.\w+$/.exec(damage) ?? []
      if (tool) mkdirSync(join(tree.home, tool))
      const { stdout, stderr } = await tree.sh(
        'touch ~/new && ls -d ~/.cargo && git config user.name',
      )
      assert.match(String(stdout), 'Ada', `${damage}: ${stderr}`)
    }
  }))

test('/tmp and the home directory are private and kept from one command to the next', () =>
  using(async tree => {
    await tree.sh('echo one > /tmp/note; echo two > ~/note; mkdir -p ~/.cache/x')
    const { stdout } = await tree.sh('cat /tmp/note ~/note; ls -d ~/.cache/x')
    assert.match(String(stdout), 'one\ntwo\n')
    assert.not.ok(existsSync('/tmp/note'))
    assert.not.ok(existsSync(join(tree.home, 'note')))
    assert.is(readFileSync(tree.runner.hostPath('/tmp/note'), 'utf8'), 'one\n')
    assert.is(tree.runner.hostPath(join(tree.workspace, 'x')), join(tree.workspace, 'x'))
  }))

test('the workspace is protected under every name that leads to it', () =>
  using(
    async tree => {
      const alias = join(tree.root, 'alias')
      const before = kept(tree)
      const { stdout } = await tree.sh(
        `cd ${alias} || exit; touch inside; echo x >> .git/config; echo x >> ${tree.workspace}/.git/config; mv .git .git2; cat hidden/file.txt; echo done`,
        { cwd: alias },
      )
      assert.is(String(stdout), 'done\n')
      assert.ok(existsSync(join(tree.workspace, 'inside')))
      assert.equal(kept(tree), before)
    },
    { workspaceOf: 'alias' as const },
  ))

test('variables that a command sets show it no more of this computer', () =>
  using(async tree => {
    const { home, root } = tree
    const tampered: Record<string, string>[] = [
      { JAVA_HOME: join(home, 'Documents') },
      { PATH: `${home}/.ssh:${tree.env.PATH}` },
      { PATH: `${home}:${tree.env.PATH}`, HOME: join(root, 'outside') },
      { HOME: root },
    ]
    for (const given of tampered) {
      const { stdout } = await tree.sh(
        `cat ${home}/.ssh/* ${home}/Documents/* ${root}/outside/* ${home}/.bashrc`,
        { env: { ...tree.env, ...given } },
      )
      assert.not.match(String(stdout), SECRET, JSON.stringify(given))
    }
  }))

test('a workspace that no sandbox protects is refused', async () => {
  const problemOf = async (workspaceOf: TreeOptions['workspaceOf']) => {
    const tree = createTree({ workspaceOf, parent: '/var/tmp' })
    try {
      assert.match(await tree.sh('true').catch(error => error.message), "can't protect")
      return String(await tree.runner.problem())
    } finally {
      tree.close()
    }
  }
  assert.match(await problemOf('home'), 'contains your home directory')
  assert.match(await problemOf('agentHome'), 'is the home of this service')
  // Sockets of terminals, displays, and agents are there.
  assert.match(await problemOf('tmp'), 'contains files of other programs')
})

test('private directories cannot be replaced, even where the configuration makes /tmp writable', () =>
  using(
    async tree => {
      const own = dirname(tree.runner.sharedDir())
      const before = outside(tree)
      await tree.sh(
        `for d in ${own}/*/; do mv $d ${own}/x && mkdir -p $d && ln -s ${tree.home} $d/home && ln -s ${tree.home} $d/tmp; done`,
      )
      await tree.sh('echo x > ~/Documents/letter.txt')
      assert.equal([...outside(tree)], [...before])
    },
    { writable: ['/tmp'], parent: '/var/tmp' },
  ))

test('a worktree that is in a private directory of commands is none: they could replace it at any moment', () =>
  using(async tree => {
    const own = dirname(tree.runner.hostPath('/tmp/x'))
    await tree.sh(
      `mkdir -p /tmp/r/worktrees/w; echo ${tree.workspace}/sub/.git > /tmp/r/worktrees/w/gitdir; echo ../.. > /tmp/r/worktrees/w/commondir; mkdir sub; echo 'gitdir: ${own}/r/worktrees/w' > sub/.git`,
    )
    const sub = join(tree.workspace, 'sub')
    assert.is.not(gitDirectories(sub, [], [])?.repository, null)
    assert.is(gitDirectories(sub, [], [own])?.repository, null)
  }))

wall.run()
