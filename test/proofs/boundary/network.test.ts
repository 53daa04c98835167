/** Real programs in a real sandbox reach what was allowed, through the proxy, and nothing else. Servers are on this computer. */
import { once } from 'node:events'
import { createServer as createHttpServer } from 'node:http'
import { type AddressInfo, connect, createServer, type Server } from 'node:net'
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { NetworkTarget } from '../../../lib/agent/tool-services.ts'
import { spawnGroup, terminateGroup, waitForClose } from '../../../lib/base/process.ts'
import { createTree, reason, type Tree } from '../../lib/commands/sandbox/_sandbox.ts'
import { git } from '../../_git.ts'
import { until } from '../../_wait.ts'

const proof = suite('network of the sandbox')
const test = reason === null ? proof : proof.skip

const PUBLIC = '93.184.215.14'

type World = {
  tree: Tree
  asked: NetworkTarget[]
  /** The sentence for a host; null: allowed. */
  answers: Map<string, string | null | Promise<string | null>>
  sh: (command: string) => ReturnType<Tree['sh']>
  place: (file: string, ...args: string[]) => ReturnType<Tree['runner']['place']>
}

/** Every allowed connection reaches `server`. */
const using = async (server: Server, work: (world: World) => Promise<void>): Promise<void> => {
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  const asked: NetworkTarget[] = []
  const answers: World['answers'] = new Map()
  const tree = createTree({
    env: { PATH: `${dirname(process.execPath)}:${process.env.PATH}` },
    access: {
      resolve: async () => [{ address: PUBLIC, family: 4 }],
      dial: () => connect({ host: '127.0.0.1', port, allowHalfOpen: true }),
    },
  })
  const onTarget = async (target: NetworkTarget) => {
    asked.push(target)
    return (await answers.get(target.host)) ?? null
  }
  const place = (file: string, ...args: string[]) =>
    tree.runner.place({
      program: { file, args },
      cwd: tree.workspace,
      env: tree.env,
      access: 'confined',
      onTarget,
    })
  try {
    await work({ tree, asked, answers, place, sh: command => tree.sh(command, { onTarget }) })
  } finally {
    tree.close()
    server.close()
  }
}

const web = () =>
  createHttpServer((asked, answer) => answer.end(`${asked.headers.host}${asked.url} was here\n`))

test('curl, and fetch of Node, by name; the answer is waited for', () =>
  using(web(), async ({ asked, answers, sh }) => {
    const slow = Promise.withResolvers<null>()
    answers.set('slow.example', slow.promise)
    const got = sh('curl -sS http://slow.example/a')
    await until(() => asked.length === 1)
    slow.resolve(null)
    assert.is((await got).stdout.toString(), 'slow.example/a was here\n')
    const fetched = await sh(
      `node -e "fetch('http://b.example/c').then(r => r.text()).then(t => console.log(t))"`,
    )
    assert.match(fetched.stdout.toString() + fetched.stderr, 'b.example/c was here')
    assert.equal(asked, [
      { host: 'slow.example', port: 80 },
      { host: 'b.example', port: 80 },
    ])
  }))

test('denied: the program gets the sentence; nothing else leads out', () =>
  using(web(), async ({ answers, sh, tree }) => {
    answers.set('evil.example', 'The user denied access to evil.example.')
    assert.match((await sh('curl -sS http://evil.example')).stdout.toString(), 'The user denied')
    assert.match((await sh('curl -sS https://evil.example 2>&1')).stdout.toString(), '403')
    const ways = [
      'curl -sS --noproxy "*" -m 2 http://93.184.215.14',
      'timeout 3 bash -c "echo > /dev/tcp/93.184.215.14/80"',
      'timeout 3 getent hosts example.org',
      'curl -sSf -m 5 http://127.0.0.1:1',
      'curl -sSf --noproxy "" -m 5 http://localhost:1',
      'curl -sSf --noproxy "" -m 5 http://169.254.169.254/latest/meta-data',
      'curl -sSf --noproxy "" -m 5 -x socks5h://127.0.0.1:28128 http://127.1:1',
    ]
    for (const way of ways) assert.is.not((await sh(way)).code, 0, way)
    assert.match(
      (await sh('curl -sS -x socks5h://127.0.0.1:28128 http://c.example')).stdout.toString(),
      'c.example',
    )
    // Without a decision there is no proxy.
    assert.is.not((await tree.sh('curl -sS -m 2 http://c.example')).code, 0)
  }))

test('a server of the command is reached directly', () =>
  using(web(), async ({ asked, sh }) => {
    const script = `require('http').createServer((q, a) => a.end('own')).listen(4000, '127.0.0.1', () => fetch('http://localhost:4000').then(r => r.text()).then(t => { console.log(t); process.exit(0) }))`
    const { stdout, stderr } = await sh(`node -e "${script}"`)
    assert.match(stdout.toString() + stderr, 'own')
    assert.equal(asked, [])
  }))

test('the exit status, death by a signal, input, and descriptor 3 are those of the command', () =>
  using(web(), async ({ place, sh, tree }) => {
    assert.is((await sh('exit 7')).code, 7)
    assert.is((await sh('kill -9 $$')).code, 137)
    const count = 'ls /proc/self/fd | wc -l'
    assert.equal((await sh(count)).stdout, (await tree.sh(count)).stdout)
    const placed = await place('bash', '-c', 'cat; echo report >&3')
    const child = spawnGroup(placed.file, placed.args, {
      ...placed,
      stdio: ['pipe', 'pipe', 'pipe', 'pipe'],
    })
    child.stdin.end('typed')
    const read = async (stream: unknown) => {
      let text = ''
      for await (const chunk of stream as AsyncIterable<Buffer>) text += chunk
      return text
    }
    const texts = Promise.all([read(child.stdout), read(child.stdio[3])])
    assert.is((await waitForClose(child)).code, 0)
    assert.equal(await texts, ['typed', 'report\n'])
  }))

test('SIGTERM reaches the command, which still has its network; its end closes the proxy', () =>
  using(web(), async ({ tree, place }) => {
    const script = `trap 'curl -sS http://last.example; exit 3' TERM; echo ready; while :; do sleep 0.1; done`
    const placed = await place('bash', '-c', script)
    const child = spawnGroup(placed.file, placed.args, {
      ...placed,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let text = ''
    child.stdout.on('data', chunk => (text += chunk))
    await until(() => text.includes('ready'))
    const cancel = terminateGroup(child, 30_000)
    assert.is((await waitForClose(child)).code, 3)
    cancel()
    assert.match(text, 'last.example/ was here')
    assert.equal(readdirSync(join(dirname(tree.runner.sharedDir()), 'n')), [])
  }))

/** A registry with one package. */
const registry = (tarball: Buffer): Server =>
  createHttpServer((asked, answer) => {
    if (asked.url?.endsWith('.tgz')) return void answer.end(tarball)
    const dist = { tarball: 'http://registry.example/tiny/-/tiny-1.0.0.tgz' }
    const versions = { '1.0.0': { name: 'tiny', version: '1.0.0', dist } }
    answer.setHeader('content-type', 'application/json')
    answer.end(JSON.stringify({ name: 'tiny', 'dist-tags': { latest: '1.0.0' }, versions }))
  })

test('npm install', async () => {
  const from = createTree()
  mkdirSync(join(from.root, 'package'))
  writeFileSync(join(from.root, 'package/package.json'), '{"name":"tiny","version":"1.0.0"}')
  spawnSync('tar', ['czf', 'tiny.tgz', 'package'], { cwd: from.root })
  const tarball = readFileSync(join(from.root, 'tiny.tgz'))
  from.close()
  await using(registry(tarball), async ({ asked, sh, tree }) => {
    writeFileSync(join(tree.workspace, 'package.json'), '{"name":"demo","version":"1.0.0"}')
    const { code, tail } = await sh(
      'npm install --no-audit --no-fund --registry http://registry.example tiny',
    )
    assert.is(code, 0, tail)
    assert.ok(existsSync(join(tree.workspace, 'node_modules/tiny/package.json')))
    assert.equal([...new Set(asked.map(({ host }) => host))], ['registry.example'])
  })
})

test('git clone, and pip', async () => {
  const served = createTree()
  writeFileSync(join(served.workspace, 'a.txt'), 'a')
  git(served.workspace, 'add', 'a.txt')
  git(served.workspace, '-c', 'user.name=a', '-c', 'user.email=a@b.c', 'commit', '-qm', 'one')
  git(served.workspace, 'update-server-info')
  const files = createHttpServer((asked, answer) => {
    const path = join(
      served.workspace,
      '.git',
      (asked.url ?? '').split('?')[0]?.replace('/demo.git', '') ?? '',
    )
    if (!existsSync(path)) return void answer.writeHead(404).end()
    answer.end(readFileSync(path))
  })
  await using(files, async ({ asked, sh, tree }) => {
    const { code, tail } = await sh('git clone -q http://git.example/demo.git copy')
    assert.is(code, 0, tail)
    assert.ok(existsSync(join(tree.workspace, 'copy/a.txt')))
    await sh(
      'pip download --retries 0 --index-url http://pypi.example/simple --trusted-host pypi.example tiny',
    )
    assert.equal([...new Set(asked.map(({ host }) => host))], ['git.example', 'pypi.example'])
  })
  served.close()
})

test('a TLS connection passes through', async () => {
  const server = createServer(socket => {
    socket.once('data', hello => {
      seen.push(hello[0] ?? 0)
      socket.destroy()
    })
  })
  const seen: number[] = []
  await using(server, async ({ asked, sh }) => {
    await sh('curl -sS https://tls.example')
    // The first byte of a handshake.
    assert.equal(seen, [0x16])
    assert.equal(asked, [{ host: 'tls.example', port: 443 }])
  })
})

proof.run()
