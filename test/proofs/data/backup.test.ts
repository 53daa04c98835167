/**
 * Proof of backups: killed with SIGKILL at random points while journals grow, on a disk that is full, and of a home with a file of
 * 2 GB. Earlier backups stay, no half file has a final name, and every saved journal is what was there at one moment.
 * `PROOF=full` kills 100 times, a plain run 4 times.
 */
import { execFileSync, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { buffer } from 'node:stream/consumers'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { readArchive } from '../../../lib/operations/backups/read-archive.ts'
import { openJournal } from '../../../lib/store/journal.ts'
import { bundleProgram } from '../../_program.ts'
import { createRandom } from '../../_random.ts'

const isFull = process.env.PROOF === 'full'
const kills = isFull ? 100 : 4
const proof = suite('backups that are killed')

const program = bundleProgram(join(import.meta.dirname, '_backup-program.ts'))

const createHome = () => {
  const dir = mkdtempSync(join(tmpdir(), 'backup-proof-'))
  const home = join(dir, 'home')
  mkdirSync(join(home, 'webui/sessions'), { recursive: true })
  mkdirSync(join(home, 'skills'))
  mkdirSync(join(dir, 'out'))
  // Noise, which does not compress: writing takes a moment.
  const noise = createHash('shake256', { outputLength: 6_000_000 }).update('x').digest()
  writeFileSync(join(home, 'skills/noise.bin'), noise)
  // Looked through for keys, which is where the program can hold.
  writeFileSync(join(home, 'config.yaml'), 'model: test-model\n')
  return { dir, home, out: join(dir, 'out') }
}

const start = (home: string, target: string, ...hold: string[]) => {
  const child = spawn(process.execPath, [program, home, target, ...hold], { stdio: 'pipe' })
  const exited = new Promise(resolve => child.once('close', resolve))
  const ended = async () => {
    const [out, error] = await Promise.all([buffer(child.stdout), buffer(child.stderr), exited])
    return { code: child.exitCode, out: String(out), error: String(error) }
  }
  return { child, ended: ended() }
}

const run = (home: string, target: string) => start(home, target).ended

const hashOf = (path: string): string =>
  createHash('sha256').update(readFileSync(path)).digest('hex')

proof(`${kills} kills while chats grow: only whole backups have a name`, async () => {
  const random = createRandom(20261123)
  const { dir, home, out } = createHome()
  const sessions = join(home, 'webui/sessions')
  const journals = ['a', 'b', 'c'].map(name =>
    openJournal(join(sessions, `${name}.jsonl`), { create: true }),
  )
  const state = { n: 0 }
  const writer = setInterval(() => {
    for (const journal of journals) {
      state.n += 1
      journal.append([JSON.stringify({ n: state.n, text: 'x'.repeat(random.below(3_000)) })])
    }
  }, 1)
  try {
    const first = join(out, 'first.tar.zst')
    assert.is((await run(home, first)).code, 0)
    const before = hashOf(first)
    const held = start(home, join(out, 'held.tar.zst'), 'hold')
    await once(held.child.stdout, 'data')
    held.child.kill('SIGKILL')
    await held.ended
    assert.not.ok(existsSync(join(out, 'held.tar.zst')))
    for (let round = 0; round < kills; round++) {
      const target = join(out, `round-${round}.tar.zst`)
      const { child, ended } = start(home, target)
      const isWriting = () => readdirSync(out).some(name => name.includes(`-${child.pid}-`))
      while (!isWriting() && child.exitCode === null) await sleep(1)
      // While it writes, reads back, or is done.
      await sleep(random.next() * 150)
      child.kill('SIGKILL')
      await ended
      if (!existsSync(target)) continue
      await readArchive(target, {
        async onEntry({ path }, content) {
          if (!path.endsWith('.jsonl')) return
          const saved = await buffer(content)
          const now = readFileSync(join(sessions, path.slice('state/sessions/'.length)))
          assert.ok(now.subarray(0, saved.length).equals(saved))
          assert.ok(saved.length === 0 || saved.at(-1) === 10)
        },
      })
    }
    assert.is(hashOf(first), before)
    assert.is((await run(home, join(out, 'last.tar.zst'))).code, 0)
    const names = readdirSync(out)
    assert.not(
      names.some(name => name.endsWith('.partial')),
      names.join(' '),
    )
  } finally {
    clearInterval(writer)
    for (const journal of journals) journal.close()
    rmSync(dir, { recursive: true, force: true })
  }
})

const mount = (place: string, size: string): boolean => {
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'none', place], { stdio: 'ignore' })
    return true
  } catch {
    // Not root, or a container that does not allow it.
    return false
  }
}

if (isFull) {
  proof('a disk of 1 MB: a sentence, nothing is left, and the earlier backup stays', async () => {
    const { dir, home } = createHome()
    const disk = join(dir, 'disk')
    mkdirSync(disk)
    if (!mount(disk, '1m')) return
    try {
      writeFileSync(join(disk, 'earlier.tar.zst'), 'earlier')
      const { code, error } = await run(home, join(disk, 'x.tar.zst'))
      assert.is(code, 1)
      assert.match(error, /disk .* is full\. Nothing was saved/)
      assert.equal(readdirSync(disk), ['earlier.tar.zst'])
    } finally {
      execFileSync('umount', [disk])
      rmSync(dir, { recursive: true, force: true })
    }
  })

  proof('a file that is larger than `readFile` reads, and 20,000 small ones', async () => {
    const { dir, home, out } = createHome()
    try {
      const sparse = join(home, 'sparse.bin')
      writeFileSync(sparse, 'start')
      truncateSync(sparse, 2 * 1024 ** 3 + 1)
      for (let index = 0; index < 20_000; index++)
        writeFileSync(join(home, 'skills', `${index}.md`), `skill ${index}`)
      const target = join(out, 'large.tar.zst')
      const { code, error } = await run(home, target)
      assert.is(code, 0, error)
      assert.ok(statSync(target).size < 20_000_000)
    } finally {
      rmSync(dir, { recursive: true, force: true })
    }
  })
}

proof.run()
