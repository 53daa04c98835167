/** `search_files` beside `grep -rn` and ripgrep alone on the same files. */
import { spawnSync } from 'node:child_process'
import { closeSync, mkdirSync, openSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { findRipgrep } from '../lib/agent/search/ripgrep.ts'
import { searchFiles } from '../lib/agent/tools/search-files.ts'
import { callContext } from '../test/_call.ts'
import type { Bench } from './_bench.ts'
import { median } from './_child.ts'
import { number } from './_table.ts'

const ROUNDS = 5
const ENV = { PATH: process.env.PATH ?? '' }

/** 20,000 files of 4 kB in 100 folders; ten of them have the word. */
const writeTree = (dir: string): void => {
  for (let folder = 0; folder < 100; folder++) {
    mkdirSync(join(dir, `d${folder}`), { recursive: true })
    const text = `some text on a line\nanother line with words ${folder}\n`.repeat(90)
    for (let file = 0; file < 200; file++) {
      const has = file === 7 && folder % 10 === 0
      writeFileSync(join(dir, `d${folder}`, `f${file}.txt`), has ? `${text}the NEEDLE\n` : text)
    }
  }
}

/** A log of 500 MB with the word in five lines. */
const writeLog = (path: string): void => {
  const fd = openSync(path, 'w')
  for (let block = 0; block < 500; block++) {
    const lines = Array.from(
      { length: 10_000 },
      (_, at) =>
        `2026-01-01T12:00:00Z INFO request ${block * 10_000 + at} took ${(at * 7919) % 1000} ms for /api/items/${at}\n`,
    )
    writeSync(fd, block % 100 === 99 ? `${lines.join('')}the NEEDLE\n` : lines.join(''))
  }
  closeSync(fd)
}

const CASES: [what: string, path: string, pattern: string][] = [
  ['one word in 20 000 small files', 'tree', 'NEEDLE'],
  ['a pattern on every second line of 20 000 files', 'tree', 'lin[e] with'],
  ['one word in a log of 500 MB', 'big.log', 'NEEDLE'],
  ['50 000 lines of a log of 500 MB', 'big.log', 'took 99\\d ms'],
]

const timed = async (run: () => Promise<unknown> | unknown): Promise<number> => {
  const times: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    const start = performance.now()
    await run()
    times.push(performance.now() - start)
  }
  return median(times)
}

export const measureSearch = async (bench: Bench): Promise<void> => {
  const root = join(bench.root, 'search')
  writeTree(join(root, 'tree'))
  writeLog(join(root, 'big.log'))
  const ripgrep = await findRipgrep(ENV.PATH)
  if (!ripgrep) throw new Error('ripgrep was not found')
  const search = (path: string, pattern: string) => {
    const memo = new Map([['ripgrep', Promise.resolve(ripgrep)]])
    const ctx = callContext({ workspace: root, env: ENV }, { memo })
    return searchFiles.run(ctx, searchFiles.input.parse({ path, pattern }))
  }
  const print = (program: string, args: string[]) =>
    void spawnSync(program, args, {
      cwd: root,
      stdio: ['ignore', 'pipe', 'ignore'],
      maxBuffer: 1e9,
    })
  for (const [what, path, pattern] of CASES) {
    const ours = await timed(() => search(path, pattern))
    const grep = await timed(() => print('grep', ['-rnP', '--', pattern, path]))
    const alone = await timed(() => print(ripgrep.path, ['--no-config', '-n', '-e', pattern, path]))
    bench.add({
      what: `search_files: ${what}`,
      measured: `${number(ours)} ms; grep ${number(grep)} ms; ripgrep alone ${number(alone)} ms`,
      bar: '≤ 3 × ripgrep + 100 ms',
      kept: ours <= 3 * alone + 100,
    })
  }
}
