/** What commands change in the work of a cell, as statements to a database that only notes them: in which order, how often, and who waits. */
import { execFileSync } from 'node:child_process'
import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { systemClock } from '../../../lib/base/clock.ts'
import { Backlog } from '../../../lib/cluster/backlog.ts'
import { CellFileRules } from '../../../lib/cluster/cell-files.ts'
import type { CellFiles } from '../../../lib/cluster/cluster.ts'
import type { Database } from '../../../lib/cluster/database.ts'
import { Mirror } from '../../../lib/cluster/mirror.ts'
import { PostgresOwned } from '../../../lib/cluster/owned.ts'
import { Pending } from '../../../lib/cluster/pending.ts'
import { Sealer } from '../../../lib/cluster/seal.ts'
import { Sender } from '../../../lib/cluster/send.ts'
import { readConfig } from '../../../lib/config.ts'
import { writeAtomic } from '../../../lib/store/atomic-write.ts'

const proof = suite('cluster/work-queue')

/** `write data@0`: kind, name, and place of each change of one statement. */
type Statement = string[]

let dir = ''
let close = async (): Promise<void> => undefined

const at = (name: string): string => join(dir, 'workspace', name)
const put = (name: string, content: string | Buffer): void => {
  mkdirSync(dirname(at(name)), { recursive: true })
  writeFileSync(at(name), content)
}

/** A database that takes everything, and what it was sent. */
const noting = (onStatement: () => Promise<void> | void = () => undefined) => {
  const statements: Statement[] = []
  const db: Database = {
    ended: new AbortController().signal,
    end: () => undefined,
    async query(text, values = []) {
      if (!text.includes('agent_webui.push')) return []
      const [kinds, keys, ats] = [values[3], values[4], values[6]] as [string[], string[], number[]]
      const changes = kinds.map(
        (kind, n) => `${kind} ${keys[n]?.replace('work/workspace/', '')}@${ats[n]}`,
      )
      if (changes.length > 0) {
        statements.push(changes)
        await onStatement()
      }
      return [{ result: 'written' }]
    },
  }
  return { db, statements }
}

const rules = (): CellFileRules =>
  new CellFileRules(
    readConfig(
      {
        HOME: dir,
        AGENT_WEBUI_CLUSTER_URL: 'postgres://nobody@127.0.0.1:1/none',
        AGENT_WEBUI_CLUSTER_RUN_BY: 'worker',
      },
      [],
    ),
  )

const stateDir = (): string => join(dir, '.agent', 'webui')

/** An owner of what is there now; `statements` begins after that. */
const own = async (
  onStatement: (statements: Statement[]) => Promise<void> | void = () => undefined,
  files: CellFiles = rules(),
) => {
  const { db, statements } = noting(() => onStatement(statements))
  const warnings: string[] = []
  const log = { info: () => undefined, warn: (text: string) => void warnings.push(text) }
  const sealer = new Sealer('a key that is only used in this test 01', 'cell')
  const mirror = new Mirror(files, { sealer, warn: log.warn })
  const owned = await PostgresOwned.begin({
    ...{ clock: systemClock, url: '', cell: 'cell', stateDir: stateDir(), directory: 'd', files },
    ...{ mirror, sealer, tookOver: false, missing: [], db, token: null, log },
    claimed: { id: '', epoch: 1, batch: 0, claim: '', previousEpoch: 0 },
    leftOut: { here: new Set(), inherited: new Set() },
  })
  close = () => owned.release(5_000)
  statements.length = 0
  return { owned, statements, warnings }
}

const say = (text: string): void => writeAtomic(join(stateDir(), 'settings.json'), text)
const SAID = 'write state/settings.json@0'
const of = (name: string, statements: Statement[]): string[] =>
  statements.flat().filter(change => change.includes(` ${name}@`))

proof.before.each(() => {
  dir = mkdtempSync(join(tmpdir(), 'work-queue-'))
  mkdirSync(at(''))
  mkdirSync(stateDir(), { recursive: true })
})
proof.after.each(async () => {
  await close()
  close = async () => undefined
  rmSync(dir, { recursive: true, force: true })
})

proof(
  'a log that is written to all the time is copied to the end it had, then rests; messages do not wait',
  async () => {
    let isGrowing = true
    const { owned, statements } = await own(sent => {
      if (isGrowing) appendFileSync(at('log'), 'a line\n')
      if (sent.length === 2) say('{"a":1}')
    })
    put('log', Buffer.alloc(3 << 20, '.\n'))
    await owned.look()
    assert.is(
      statements.findIndex(changes => changes.includes(SAID)),
      2,
      'the next statement',
    )
    const places = [0, 1, 2, 3, 4].map(n => `part log@${n << 19}`)
    assert.equal(of('log', statements), [...places, `write log@${5 << 19}`])
    await owned.look()
    assert.is(of('log', statements).length, 6, 'it rests')
    isGrowing = false
    await owned.release(5_000)
    assert.is(of('log', statements).at(-1), `write log@${6 << 19}`, 'the end of it')
  },
)

proof(
  'a large file: only the tool that made it waits; each message is the next statement',
  async () => {
    const { promise: half, resolve: reachHalf } = Promise.withResolvers<void>()
    const { owned, statements } = await own(sent => {
      if (sent.length === 8) reachHalf()
    })
    for (const name of ['one', 'two', 'three']) put(name, Buffer.alloc(8 << 20))
    let isLooked = false
    const looked = owned.look().then(() => {
      isLooked = true
    })
    await half
    say('{"a":1}')
    const before = statements.length
    await owned.whenSettled()
    assert.ok(owned.isSettled())
    assert.not(isLooked, 'the tool still waits')
    assert.ok(statements.findIndex(changes => changes.includes(SAID)) <= before + 1)
    await looked
    for (const name of ['one', 'two', 'three'])
      assert.is(of(name, statements).at(-1), `write ${name}@${15 << 19}`)
  },
)

proof('a repository: names of commits after all objects, what was deleted after both', async () => {
  put('repo/.git/objects/aa/loose', 'x')
  put('repo/.git/refs/heads/old', 'x')
  const { owned, statements } = await own()
  put('repo/.git/HEAD', 'ref: refs/heads/main')
  put('repo/.git/refs/heads/main', 'x')
  put('repo/.git/packed-refs', 'x')
  put('repo/.git/objects/pack/p.pack', Buffer.alloc(3 << 20))
  put('repo/z', Buffer.alloc(2 << 20))
  rmSync(at('repo/.git/objects/aa/loose'))
  rmSync(at('repo/.git/refs/heads/old'))
  await owned.look()
  const sent = statements.flat().map(change => change.replace('repo/', ''))
  const last = (pattern: RegExp) => sent.findLastIndex(change => pattern.test(change))
  const first = (pattern: RegExp) => sent.findIndex(change => pattern.test(change))
  assert.ok(last(/objects\/pack|write z/) < first(/HEAD|packed-refs|heads\/main/), sent.join('\n'))
  assert.ok(last(/HEAD|packed-refs|heads\/main/) < first(/^gone /), sent.join('\n'))
  assert.is(sent.filter(change => change.startsWith('gone ')).length, 2)
})

proof('a commit in the background is sent after its objects, whenever it happens', async () => {
  const files = rules()
  let listed = (): void => undefined
  let stated = (): void => undefined
  const list = files.list.bind(files)
  files.list = async part => {
    const found = await list(part)
    listed()
    return found
  }
  put('repo/.git/refs/heads/main', 'none')
  put('repo/.git/modules/sub/refs/heads/main', 'none')
  put('bare.git/refs/heads/main', 'none')
  const { owned, statements } = await own(() => stated(), files)
  const commit = (name: string): void => {
    for (const dir of ['repo/.git', 'repo/.git/modules/sub', 'bare.git']) {
      put(`${dir}/objects/aa/${name}`, name)
      put(`${dir}/refs/heads/main`, name)
    }
  }
  const looked = async (): Promise<string[]> => {
    statements.length = 0
    await owned.look()
    listed = stated = () => undefined
    return statements.flat().map(change => change.replace(/^write |@0$/g, ''))
  }
  /** Each name after the object. */
  const isInOrder = (sent: string[], object: string): void => {
    for (const dir of ['repo/.git', 'repo/.git/modules/sub', 'bare.git']) {
      const [at, name] = [`objects/aa/${object}`, 'refs/heads/main'].map(end =>
        sent.indexOf(`${dir}/${end}`),
      ) as [number, number]
      assert.ok(at >= 0 && at < name, `${dir}: ${sent.join(' ')}`)
    }
  }
  // Between the list of the files and the look at each.
  listed = () => commit('first')
  isInOrder(await looked(), 'first')
  // While the content is sent: the name that was found is not the one that is there.
  put('repo/other', Buffer.alloc(3 << 20))
  commit('second')
  stated = () => commit('third')
  const sent = await looked()
  assert.not.match(sent.join(' '), /aa\/third/)
  assert.not.match(sent.join(' '), /refs\/heads/)
  isInOrder(await looked(), 'third')
})

proof(
  'looks at the same time share one, and none is answered by a look that began before',
  async () => {
    const files = rules()
    let lists = 0
    const list = files.list.bind(files)
    files.list = part => {
      lists += 1
      return list(part)
    }
    const { owned, statements } = await own(undefined, files)
    lists = 0
    const first = owned.look()
    put('made', 'x')
    await Promise.all([first, owned.look(), owned.look(), owned.look()])
    assert.is(lists, 2)
    assert.equal(of('made', statements), ['write made@0'])
  },
)

proof(
  'what is behind a link is never read; what a mark of caches hides is left as it is; a write in place is found',
  async () => {
    const outside = mkdtempSync(join(tmpdir(), 'outside-'))
    put('data/x.csv', 'inside')
    put('target/o', 'object')
    put('same', 'one')
    const { owned, statements } = await own()
    const looked = async (): Promise<string[]> => {
      statements.length = 0
      await owned.look()
      // The list of what stays here.
      return statements.flat().filter(change => !change.includes('state/not-copied.json'))
    }
    renameSync(at('data'), join(outside, 'data'))
    symlinkSync(join(outside, 'data'), at('data'))
    assert.equal(await looked(), ['write data@0', 'gone data/x.csv@0'])
    writeFileSync(join(outside, 'data', 'x.csv'), 'SECRET')
    assert.equal(await looked(), [])
    rmSync(outside, { recursive: true })
    assert.equal(await looked(), [])
    put('target/CACHEDIR.TAG', 'Signature: 8a477f597d28d172789f06886806bc55')
    put('target/o', 'another')
    for (const _ of [1, 2]) assert.equal(await looked(), [])
    const { atime, mtime } = statSync(at('same'))
    put('same', 'two')
    utimesSync(at('same'), atime, mtime)
    assert.equal(await looked(), ['write same@0'])
  },
)

proof(
  'folders that programs make again stay, except those that a repository has files of',
  async () => {
    const { owned, statements } = await own()
    const git = (...args: string[]) =>
      execFileSync('git', ['-C', at('repo'), ...args], { stdio: 'ignore' })
    for (const name of [
      'node_modules/action/dist.js',
      '.cargo/config.toml',
      'sub/node_modules/x.js',
    ])
      put(`repo/${name}`, name)
    put('../.cargo/registry/x', 'fetched')
    put('../.cargo/config.toml', 'of the person')
    git('init', '-q', '--template=')
    git('add', '-f', 'node_modules', '.cargo')
    await owned.look()
    // Without the modes of folders.
    const sent = statements.flat().filter(change => /(?:node_modules|cargo).*[^/]@/.test(change))
    assert.equal(sent.toSorted(), [
      'write repo/.cargo/config.toml@0',
      'write repo/node_modules/action/dist.js@0',
      'write work/.cargo/config.toml@0',
    ])
  },
)

proof('a mark of caches at the top of a workspace or a repository leaves out neither', async () => {
  const named = ['clone', 'listed', 'of-profile']
  for (const name of [...named, 'cache']) {
    put(`${name}/CACHEDIR.TAG`, 'Signature: 8a477f597d28d172789f06886806bc55')
    put(`${name}/file`, name)
  }
  put('clone/.git/HEAD', 'ref: refs/heads/main')
  put('listed/target/CACHEDIR.TAG', '')
  put('listed/target/file', 'made again')
  const list = (name: string) => JSON.stringify([{ path: realpathSync(at(name)), name }])
  const files = rules()
  mkdirSync(stateDir(), { recursive: true })
  writeFileSync(join(stateDir(), 'workspaces.json'), list('listed'))
  put('../.agent/profiles/second/webui_state/workspaces.json', list('of-profile'))
  const found = await files.list()
  assert.equal(
    found.filter(key => /^work\/.*file$/.test(key)).toSorted(),
    named.map(name => `work/workspace/${name}/file`),
  )
  assert.equal(files.leftOut(), ['work/workspace/cache/', 'work/workspace/listed/target/'])
})

proof(
  '60,000 files: others have their turn meanwhile, statements are full, and one line names what has no room',
  async () => {
    const keys = Array.from({ length: 60_000 }, (_, n) => `work/workspace/${n}`)
    put('each', '')
    const path = at('each')
    const files: CellFiles = {
      ...{ keyOf: () => null, pathOf: () => path, list: async () => keys },
      ...{ isAppended: () => false, isWork: () => true, isOfTools: () => true },
      ...{ isHidden: () => false, listBelow: async () => [], leftOut: () => [] },
    }
    const warnings: string[] = []
    const sealer = new Sealer('a key that is only used in this test 01', 'cell')
    const mirror = new Mirror(files, { sealer, warn: text => warnings.push(text) })
    const [pending, backlog] = [new Pending(), new Backlog()]
    const { db, statements } = noting()
    const sender = new Sender({
      ...{ cell: 'cell', epoch: 1, batch: 0, mirror, sealer, pending, backlog },
      asks: () => () => undefined,
    })
    let turns = 0
    let isDone = false
    const count = (): void => {
      turns += 1
      if (!isDone) setImmediate(count)
    }
    count()
    for (const { key, rank } of await mirror.changed()) backlog.add(key, rank)
    const atLook = turns
    while (!backlog.isEmpty) await sender.sendBacklog(db)
    const atSent = turns
    for (const { key, rank } of await mirror.changed()) backlog.add(key, rank)
    isDone = true
    assert.ok(atLook >= 299, `${atLook} turns during a look`)
    assert.ok(atSent - atLook >= 250, `${atSent - atLook} turns while it is sent`)
    assert.is(statements.length, 50)
    assert.ok(backlog.isEmpty, 'what has no room is not looked at again')
    mirror.saySkipped()
    assert.is(warnings.length, 1)
    assert.match(
      warnings[0] ?? '',
      /workspace\/50000 and 9999 more: the work of this cell has more/,
    )
  },
)

proof(
  'a file that vanishes or grows beyond the limit while it is sent leaves nothing half',
  async () => {
    let then = (): void => undefined
    const { owned, statements } = await own(sent => {
      if (sent.length === 2) then()
    })
    put('large', Buffer.alloc(3 << 20))
    then = () => rmSync(at('large'))
    await owned.look()
    assert.is(of('large', statements).at(-1), 'gone large@0', 'its parts are deleted')
    statements.length = 0
    put('large', Buffer.alloc(3 << 20))
    then = () => truncateSync(at('large'), 129 << 20)
    await owned.look()
    assert.is(of('large', statements).at(-1), `write large@${5 << 19}`)
  },
)

proof.run()
