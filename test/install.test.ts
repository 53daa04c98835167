/** build/install.mjs: packages of a lock file out of npm's cache or from a registry, which is a real server here. */
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { installPackages } from '../build/install.mjs'
import { cachePath, packPackage } from './_package.ts'

const test = suite('install')

/** Serves what is put into `archives`; without one, 404. */
const startRegistry = async () => {
  const archives = new Map<string, Buffer>()
  const requests: string[] = []
  const server = createServer(({ url = '' }, response) => {
    requests.push(url)
    const archive = archives.get(url)
    if (!archive) response.writeHead(404)
    response.end(archive)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return {
    archives,
    requests,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => server.close(),
  }
}

const createTree = async () => {
  const root = mkdtempSync(join(tmpdir(), 'install-'))
  const registry = await startRegistry()
  const packages: [string, Record<string, unknown>][] = []
  const modules = join(root, 'node_modules')
  const at = (path: string) => join(modules, path)
  return {
    packages,
    registry,
    at,
    /** Offers a package of the registry. */
    add: async (
      path: string,
      files: Record<string, string>,
      more: object = {},
      folder?: string,
    ) => {
      const { archive, integrity } = await packPackage(files, folder)
      registry.archives.set(`/${path}.tgz`, archive)
      packages.push([
        `node_modules/${path}`,
        { version: '1.0.0', integrity, resolved: `${registry.url}/${path}.tgz`, ...more },
      ])
      return archive
    },
    cache: (archive: Buffer, integrity: string) => {
      const file = join(root, 'cache/_cacache/content-v2/sha512', cachePath(integrity))
      mkdirSync(dirname(file), { recursive: true })
      writeFileSync(file, archive)
    },
    install: (env: Record<string, string> = {}) =>
      installPackages({
        modules,
        packages,
        lock: { lockfileVersion: 3 },
        env: { npm_config_cache: join(root, 'cache'), ...env },
        addressOf: async ([, { resolved }]) => resolved as string | undefined,
      }),
    isInstalled: () => existsSync(at('.package-lock.json')),
    remove: () => {
      registry.close()
      rmSync(root, { recursive: true })
    },
  }
}

const rejects = async (work: Promise<unknown>, expected: RegExp) => {
  const error = await work.then(
    () => undefined,
    (reason: Error) => reason,
  )
  assert.match(String(error?.message), expected)
}

test('rejects what differs from its checksum, what is missing, and what would be written elsewhere; nothing counts as installed', async () => {
  const cases: [string, (tree: Awaited<ReturnType<typeof createTree>>) => unknown, RegExp][] = [
    [
      'changed',
      ({ registry }) => registry.archives.set('/page.tgz', Buffer.from('other')),
      /^page: its checksum differs/,
    ],
    ['missing', ({ registry }) => registry.archives.clear(), /^page: .*answers 404/],
    [
      'without checksum',
      ({ packages }) => Reflect.deleteProperty(packages[0]![1], 'integrity'),
      /^page: it has no checksum/,
    ],
    [
      'without an address',
      ({ packages }) => Reflect.deleteProperty(packages[0]![1], 'resolved'),
      /^page: it is not in the cache/,
    ],
    [
      'weaker checksum',
      ({ packages }) => Object.assign(packages[0]![1], { integrity: 'sha1-x' }),
      /^page: it has no checksum/,
    ],
    ['elsewhere', ({ add }) => add('evil', { '../../../out': '' }), /^evil: a file is called/],
    [
      'a file without a folder',
      ({ add }) => add('evil', { '': '' }, {}, ''),
      /^evil: a file is called/,
    ],
  ]
  for (const [name, spoil, expected] of cases) {
    const tree = await createTree()
    await tree.add('page', { 'index.js': '' })
    await spoil(tree)
    await rejects(tree.install(), expected)
    assert.not.ok(tree.isInstalled(), name)
    assert.not.ok(existsSync(join(tree.at('..'), 'out')), name)
    tree.remove()
  }
})

test('rejects a cut archive', async () => {
  const tree = await createTree()
  const long = 'x'.repeat(100_000)
  const archive = await tree.add('page', { 'index.js': long })
  tree.registry.archives.set('/page.tgz', archive.subarray(0, archive.length / 2))
  await rejects(tree.install(), /^page: its checksum differs/)
  tree.remove()
})

test('does not download where npm has a proxy or is offline', async () => {
  const refused: Record<string, string>[] = [
    { https_proxy: 'http://p' },
    { npm_config_proxy: 'http://p' },
    { npm_config_offline: 'true' },
  ]
  for (const env of refused) {
    const tree = await createTree()
    await tree.add('page', { 'index.js': '' })
    await rejects(tree.install(env), /may not be downloaded/)
    assert.equal(tree.registry.requests, [])
    tree.remove()
  }
})

test('installs what npm would: files, executables, programs, nested packages; not what nothing reads', async () => {
  const tree = await createTree()
  const deep = `${'folder/'.repeat(40)}file.js`
  await tree.add(
    'page',
    {
      'index.js': 'page',
      'index.d.ts': '',
      'test/a.js': '',
      [deep]: 'deep',
      'run*': 'run',
      plain: 'p',
    },
    { bin: { page: 'plain' } },
    'other-name',
  )
  await tree.add('@scope/test', { 'ümlaut.js': 'ü' }, { bin: { scoped: './ümlaut.js' } })
  await tree.add('page/node_modules/inner', { 'index.js': 'inner' })
  mkdirSync(tree.at('half'), { recursive: true })
  await tree.install()
  const read = (path: string) => readFileSync(tree.at(path), 'utf8')
  assert.equal(
    [
      'page/index.js',
      `page/${deep}`,
      '@scope/test/ümlaut.js',
      'page/node_modules/inner/index.js',
      '.bin/scoped',
      '.bin/page',
    ].map(read),
    ['page', 'deep', 'ü', 'inner', 'ü', 'p'],
  )
  assert.equal(readdirSync(tree.at('page')).sort(), [
    'folder',
    'index.js',
    'node_modules',
    'plain',
    'run',
  ])
  const isExecutable = (path: string) => (lstatSync(tree.at(path)).mode & 0o100) !== 0
  assert.equal(['page/run', 'page/plain', 'page/index.js'].map(isExecutable), [true, true, false])
  assert.is(readlinkSync(tree.at('.bin/page')), '../page/plain')
  assert.not.ok(existsSync(tree.at('half')))
  const { packages, lockfileVersion } = JSON.parse(read('.package-lock.json'))
  assert.is(lockfileVersion, 3)
  assert.equal(
    Object.keys(packages),
    tree.packages.map(([path]) => path),
  )
  tree.remove()
})

test('asks the registry only for what the cache does not have', async () => {
  const tree = await createTree()
  const archive = await tree.add('page', { 'index.js': 'cached' })
  await tree.add('other', { 'index.js': 'downloaded' })
  tree.cache(archive, String(tree.packages[0]![1].integrity))
  await tree.install()
  assert.equal(tree.registry.requests, ['/other.tgz'])
  assert.is(readFileSync(tree.at('page/index.js'), 'utf8'), 'cached')
  tree.remove()
})

test.run()
