/** The work of a cell from one machine to another and back: what only the first one has is never lost, and nothing outside is touched. */
import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { findPostgres, type Postgres, startPostgres } from '../../_postgres.ts'
import { messageOf } from '../../../lib/errors.ts'
import { until } from '../../_wait.ts'
import { mountSmallDisk } from '../data/_small-disk.ts'
import { openDir, whyNoUsers } from './_cell-users.ts'
import { createMachine, type Machine } from './_machine.ts'

const proof = suite('cluster/work-takeover')
let db: Postgres
let outside = ''
const machines: Machine[] = []

const machine = (): Machine => {
  const made = createMachine(db.url, { hasWork: true })
  machines.push(made)
  return made
}

const put = (path: string, text: string): void => {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
}

/** Sparse. */
const putLarge = (path: string): void => {
  writeFileSync(path, '')
  truncateSync(path, 129 << 20)
}

const stateOf = (path: string): string => {
  const found = lstatSync(path, { throwIfNoEntry: false })
  if (!found) return 'none'
  if (found.isSymbolicLink()) return `link ${readlinkSync(path).replace(outside, 'OUT')}`
  if (found.isDirectory()) return 'folder'
  return found.size > 1_000 ? `${found.size >> 20} MB` : readFileSync(path, 'utf8')
}

type Step = (at: (name: string) => string) => void

/** Each step of `first` is followed by a look, as after a command; then B, then what A has by the end. */
const CASES: {
  name: string
  first: Step[]
  /** On A, by nobody who owns the cell. */
  apart?: Step
  second: Step
  here: Record<string, string>
  /** What was set aside, by its key. */
  aside?: Record<string, string>
  outside?: Record<string, string>
}[] = [
  {
    name: 'copied, deleted, made again and too large',
    first: [
      at => put(at('out.tar'), 'one'),
      at => rmSync(at('out.tar')),
      at => putLarge(at('out.tar')),
    ],
    second: at => put(at('other'), 'two'),
    here: { 'out.tar': '129 MB', other: 'two' },
  },
  {
    name: 'copied, deleted, made again while nobody was the owner',
    first: [at => put(at('notes'), 'one'), at => rmSync(at('notes'))],
    apart: at => put(at('notes'), 'never sent'),
    second: at => put(at('other'), 'two'),
    here: { notes: 'none', other: 'two' },
    aside: { notes: 'never sent' },
  },
  {
    name: 'changed while nobody was the owner, and deleted by the next one',
    first: [at => put(at('notes'), 'one'), at => put(at('old'), 'old')],
    apart: at => put(at('notes'), 'never sent'),
    second: at => {
      rmSync(at('notes'))
      rmSync(at('old'))
    },
    here: { notes: 'none', old: 'none' },
    aside: { notes: 'never sent', old: 'none' },
  },
  {
    name: 'grown too large, and changed by the next one in its older copy',
    first: [at => put(at('data'), 'one'), at => putLarge(at('data'))],
    second: at => put(at('data'), 'by the second'),
    here: { data: 'by the second' },
    aside: { data: '129 MB' },
  },
  {
    name: 'grown too large, and its older copy is deleted by the next one',
    first: [at => put(at('data'), 'one'), at => putLarge(at('data'))],
    second: at => rmSync(at('data')),
    here: { data: '129 MB' },
  },
  {
    name: 'more files are too large than any list should name',
    first: [
      at => {
        mkdirSync(at('large'))
        for (let n = 0; n < 1_100; n++) putLarge(at(`large/${n}`))
      },
    ],
    second: at => put(at('other'), 'two'),
    here: { 'large/0': '129 MB', 'large/999': '129 MB', 'large/1099': '129 MB', other: 'two' },
  },
  {
    name: 'an empty file becomes a link to nowhere while nobody was the owner',
    first: [at => put(at('empty'), '')],
    apart: at => {
      rmSync(at('empty'))
      symlinkSync('/nowhere/at-all', at('empty'))
    },
    second: at => put(at('other'), 'two'),
    here: { empty: '', other: 'two' },
    aside: { empty: 'link /nowhere/at-all' },
  },
  {
    name: 'a folder becomes a link that leads out, and what is there is deleted and made again',
    first: [
      at => put(at('data/x.csv'), 'inside'),
      at => {
        renameSync(at('data'), join(outside, 'data'))
        symlinkSync(join(outside, 'data'), at('data'))
      },
      () => put(join(outside, 'data/x.csv'), 'SECRET'),
      () => rmSync(join(outside, 'data/x.csv')),
    ],
    apart: () => put(join(outside, 'data/x.csv'), 'SECRET'),
    second: at => put(at('other'), 'two'),
    here: { other: 'two' },
    outside: { 'data/x.csv': 'SECRET' },
  },
  {
    name: 'a folder becomes a link that leads out while nobody was the owner; the next one changes and deletes in it',
    first: [
      at => {
        for (const name of ['a', 'b', 'c/d']) put(at(`data/${name}`), 'inside')
      },
    ],
    apart: at => {
      rmSync(at('data'), { recursive: true })
      symlinkSync(join(outside, 'data'), at('data'))
      for (const name of ['a', 'b', 'c/d']) put(join(outside, 'data', name), 'inside')
    },
    second: at => {
      put(at('data/a'), 'by the second')
      rmSync(at('data/b'))
      rmSync(at('data/c'), { recursive: true })
      mkdirSync(at('data/new/empty'), { recursive: true })
      put(at('data/made/e'), 'by the second')
    },
    here: {
      data: 'folder',
      'data/a': 'by the second',
      'data/b': 'none',
      'data/c/d': 'none',
      'data/new/empty': 'folder',
      'data/made/e': 'by the second',
    },
    aside: { data: 'link OUT/data' },
    outside: {
      'data/a': 'inside',
      'data/b': 'inside',
      'data/c/d': 'inside',
      'data/made': 'none',
      'data/new': 'none',
    },
  },
  {
    name: 'a link that leads out becomes a folder on the other machine',
    first: [
      at => {
        put(join(outside, 'data/a'), 'SECRET')
        symlinkSync(join(outside, 'data'), at('data'))
      },
    ],
    second: at => {
      rmSync(at('data'))
      put(at('data/a'), 'by the second')
    },
    here: { data: 'folder', 'data/a': 'by the second' },
    outside: { 'data/a': 'SECRET' },
  },
]

if (findPostgres() === null) proof.skip('there is no PostgreSQL for this platform', () => undefined)
else {
  proof.before(async () => {
    db = await startPostgres()
  })
  proof.before.each(() => {
    outside = mkdtempSync(join(tmpdir(), 'outside-'))
  })
  proof.after.each(async () => {
    for (const each of machines.splice(0)) await each.close()
    rmSync(outside, { recursive: true, force: true })
    await db.query('drop schema if exists agent_webui cascade')
  })
  proof.after(() => db.close())

  const asideOf = ({ state }: Machine): ((name: string) => string) => {
    const dir = join(state, 'conflicts')
    const [time = 'none'] = existsSync(dir) ? readdirSync(dir) : []
    return name => stateOf(join(dir, time, 'work', 'workspace', name))
  }

  for (const each of CASES)
    proof(each.name, async () => {
      const [a, b] = [machine(), machine()]
      const at = (one: Machine) => (name: string) => join(one.dir, 'workspace', name)
      for (const one of [a, b]) mkdirSync(at(one)(''))
      const first = await a.own()
      for (const step of each.first) {
        step(at(a))
        await first.look()
        await first.whenSettled()
      }
      await first.release(5_000)
      each.apart?.(at(a))
      const second = await b.own()
      each.second(at(b))
      await second.look()
      await second.whenSettled()
      await second.release(5_000)
      await a.own()
      for (const [name, expected] of Object.entries(each.here))
        assert.is(stateOf(at(a)(name)), expected, name)
      const aside = asideOf(a)
      for (const [name, expected] of Object.entries(each.aside ?? {}))
        assert.is(aside(name), expected, `${name} in conflicts`)
      if (!each.aside) assert.not(existsSync(join(a.state, 'conflicts')), 'nothing was set aside')
      for (const [name, expected] of Object.entries(each.outside ?? {}))
        assert.is(stateOf(join(outside, name)), expected, `${name} outside`)
    })

  /** A user without rights, for whom a closed folder is closed. */
  const NOBODY = 65_534
  const isRoot = whyNoUsers() === null
  const own = (one: Machine) => {
    if (isRoot) process.seteuid?.(NOBODY)
    return one.own()
  }
  const modesOf = (one: Machine): string[] =>
    readdirSync(one.dir, { recursive: true, encoding: 'utf8' })
      .filter(name => name.startsWith('workspace/'))
      .sort()
      .map(name => {
        const stat = lstatSync(join(one.dir, name))
        const content = stat.isDirectory() ? '' : readFileSync(join(one.dir, name), 'utf8')
        return `${name} ${(stat.mode & 0o777).toString(8)} ${content}`
      })

  proof(
    'modes of folders and files follow, and what changed in a folder that is closed',
    async () => {
      if (isRoot) rmSync(openDir(), { recursive: true })
      const [a, b, c] = [machine(), machine(), machine()]
      try {
        for (const one of [a, b, c])
          if (isRoot) execFileSync('chown', ['-R', String(NOBODY), one.dir])
        const first = await own(a)
        const at = (one: Machine, name: string) => join(one.dir, 'workspace', name)
        for (const name of ['ro/f', 'ro/gone', 'private/f', 'script', 'same/f', 'theirs/f'])
          put(at(a, name), 'first')
        mkdirSync(at(a, 'empty'), { mode: 0o700 })
        chmodSync(at(a, 'empty'), 0o777)
        for (const name of ['private', 'same']) chmodSync(at(a, name), 0o700)
        chmodSync(at(a, 'ro'), 0o555)
        await first.release(5_000)
        const second = await own(b)
        assert.equal(modesOf(b), modesOf(a))
        chmodSync(at(b, 'ro'), 0o755)
        put(at(b, 'ro/f'), 'second')
        put(at(b, 'ro/new/f'), 'second')
        rmSync(at(b, 'ro/gone'))
        chmodSync(at(b, 'ro'), 0o555)
        chmodSync(at(b, 'private'), 0o755)
        chmodSync(at(b, 'same'), 0o755)
        await second.look()
        chmodSync(at(b, 'same'), 0o700)
        chmodSync(at(b, 'script'), 0o755)
        put(at(b, 'theirs/f'), 'second')
        await second.release(5_000)
        // As a container leaves it: readable, and of another user.
        if (isRoot) {
          process.seteuid?.(0)
          execFileSync('chown', ['-R', '0', at(a, 'theirs')])
        }
        const third = await own(a)
        const expected = modesOf(b)
        if (isRoot) {
          assert.equal(third.missing, [at(a, 'theirs/f')])
          assert.is(readFileSync(at(a, 'theirs/f'), 'utf8'), 'first')
        }
        assert.equal(
          modesOf(a).filter(name => !/theirs/.test(name)),
          expected.filter(name => !/theirs/.test(name)),
        )
        await third.release(5_000)
        await own(c)
        assert.equal(modesOf(c), expected, 'what could not be had there was not sent from there')
      } finally {
        process.seteuid?.(isRoot ? 0 : (process.getuid?.() ?? 0))
      }
    },
  )

  proof(
    'a disk that has no room for the cell is named; a worker leaves it to others at once',
    async () => {
      const a = machine()
      writeFileSync(join(a.dir, 'large'), randomBytes(12 << 20))
      const first = await a.own()
      await first.release(30_000)
      const place = mkdtempSync(join(tmpdir(), 'small-'))
      const disk = mountSmallDisk(place, '8m')
      // Not root, or a container.
      if (!disk) return
      const before = process.env.TMPDIR
      try {
        process.env.TMPDIR = place
        const small = machine()
        const refused = await small.own({ token: 'of a worker' }).catch(messageOf)
        assert.match(String(refused), /^The files of the cell cannot be brought here: ENOSPC/)
        const waited = new AbortController()
        const owning = small.own({ signal: waited.signal }).catch(messageOf)
        await until(() => small.warnings.length > 0, 'the reason')
        waited.abort()
        await owning
        assert.match(small.warnings[0] ?? '', /cannot be brought here: ENOSPC/)
      } finally {
        if (before === undefined) delete process.env.TMPDIR
        else process.env.TMPDIR = before
        disk.unmount()
      }
      const other = machine()
      await other.own()
      assert.is(lstatSync(join(other.dir, 'large')).size, 12 << 20)
    },
  )

  proof('the database forgets files that only their owner had', async () => {
    const a = machine()
    const owned = await a.own()
    for (const name of ['one', 'two']) {
      put(join(a.dir, 'workspace', name), name)
      await owned.look()
      rmSync(join(a.dir, 'workspace', name))
      await owned.look()
    }
    const gone = () => db.query('select path from agent_webui.file where is_gone')
    assert.is((await gone()).length > 0, true)
    await owned.release(5_000)
    assert.equal(await gone(), [])
  })

  proof(
    'what did not follow is named to every owner that lacks it, and not to the one that has it',
    async () => {
      const [a, b, c] = [machine(), machine(), machine()]
      mkdirSync(join(a.dir, 'workspace'))
      putLarge(join(a.dir, 'workspace', 'large'))
      const names: string[][] = []
      for (const one of [a, b, c, a]) {
        const owned = await one.own()
        names.push(owned.missing.map(path => path.replace(/^.*\/workspace\//, '')))
        one.append('chat', '{"n":1}')
        await owned.look()
        await owned.release(5_000)
      }
      assert.equal(names, [[], ['large'], ['large'], []])
      assert.is(stateOf(join(a.dir, 'workspace', 'large')), '129 MB')
    },
  )
}

proof.run()
