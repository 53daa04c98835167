/**
 * `npm run bench -- [section …] [--full] [--profile] [--beside "CMD" [--in FOLDER]]`: measures the built file and prints the table. Sections: serving,
 * sessions, streams, engine, and, only when named or with --full, soak, search, page, install, cluster. --full also measures all
 * sizes; without it the table takes less than three minutes. --profile also prints where the processor time went. `serving` also measures the server that CMD starts: `bench/_beside.ts`.
 */
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { type Bench, createBench } from './_bench.ts'
import { sharesOf } from './_shares.ts'
import { formatTable } from './_table.ts'
import { measureCluster } from './cluster.ts'
import { measureEngine } from './engine.ts'
import { measureInstall } from './install.ts'
import { measurePage } from './page.ts'
import { measureSearch } from './search.ts'
import { measureServing } from './serving.ts'
import { measureSessions } from './sessions.ts'
import { measureSoak } from './soak.ts'
import { measureStreams } from './streams.ts'

const SECTIONS: Readonly<Record<string, (bench: Bench) => Promise<void>>> = {
  serving: measureServing,
  sessions: measureSessions,
  streams: measureStreams,
  engine: measureEngine,
  soak: measureSoak,
  search: measureSearch,
  page: measurePage,
  install: measureInstall,
  cluster: measureCluster,
}

const QUICK = ['serving', 'sessions', 'streams', 'engine']

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    full: { type: 'boolean', default: false },
    profile: { type: 'boolean', default: false },
    beside: { type: 'string' },
    in: { type: 'string', default: process.cwd() },
  },
})
const all = values.full ? Object.keys(SECTIONS) : QUICK
const wanted = positionals.length > 0 ? positionals : all

// Less compressed, which makes no difference once it is unpacked.
const speed = values.full ? [] : ['--fast']
const build = spawnSync(process.execPath, ['build.mjs', '--quiet', ...speed], { stdio: 'inherit' })
if (build.status !== 0) process.exit(1)

const root = mkdtempSync(join(tmpdir(), 'agent-webui-bench-'))
const profiles = join(root, 'profiles')
mkdirSync(profiles)
const { bench, figures, close } = createBench({
  root,
  full: values.full,
  profiles: values.profile ? profiles : undefined,
  beside: values.beside ? { command: values.beside, directory: values.in } : undefined,
})
const failures: string[] = []
for (const name of wanted) {
  try {
    const measure = SECTIONS[name]
    if (!measure) throw new Error(`sections are ${Object.keys(SECTIONS).join(', ')}`)
    await measure(bench)
  } catch (error) {
    // The other sections still run.
    failures.push(`${name}: ${error instanceof Error ? error.stack : String(error)}`)
  }
}
await close()
const shares = values.profile ? sharesOf(profiles) : []
rmSync(root, { recursive: true, force: true })
process.stdout.write(`\nNode ${process.version}, ${cpus().length} × ${cpus()[0]?.model}\n\n`)
process.stdout.write(`${formatTable(figures)}\n`)
for (const share of shares) process.stdout.write(`${share}\n`)
for (const failure of failures) process.stdout.write(`\nNot measured – ${failure}\n`)
process.exit(failures.length > 0 ? 1 : 0)
