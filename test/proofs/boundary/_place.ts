/** A workspace whose commands run in containers of a given engine, for tests. */
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Clock, systemClock } from '../../../lib/base/clock.ts'
import type { CommandRunner } from '../../../lib/agent/tool-services.ts'
import { Containers } from '../../../lib/commands/containers/containers.ts'
import { ContainerRunner } from '../../../lib/commands/containers/runner.ts'
import { type Engine, readContainerSettings } from '../../../lib/commands/containers/settings.ts'
import type { TerminalSettings } from '../../../lib/agent/tools/terminal.ts'
import { ProcessRegistry } from '../../../lib/commands/processes.ts'
import { type Bench, createBench } from '../../lib/agent/tools/_context.ts'
import type { FakeState } from './_fake-docker.ts'

export type Place = {
  bench: Bench
  runner: CommandRunner
  containers: Containers
  logged: string[]
  /** The result of the terminal tool. */
  // biome-ignore lint/suspicious/noExplicitAny: tests assert the shape of results
  run: (command: string, more?: object) => Promise<any>
  close: () => Promise<void>
}

export const createPlace = (
  env: Readonly<Record<string, string>>,
  engine: Engine,
  terminal: Record<string, unknown>,
  options: {
    containers?: Containers
    shell?: TerminalSettings
    clock?: Clock
    /** Home and workspace of another place, as after a restart of the service. */
    bench?: Bench
  } = {},
): Place => {
  const bench = options.bench ?? createBench('/var/tmp', options.shell)
  const logged: string[] = []
  const log = (line: string, extra?: unknown) =>
    void logged.push(`${line} ${JSON.stringify(extra ?? '')}`)
  const containers = options.containers ?? new Containers(options.clock ?? systemClock, log)
  const own = { source: bench.workspace, target: bench.workspace }
  const processes = new ProcessRegistry({ clock: systemClock })
  const turnEnv = { ...bench.ctx.turn.env, ...env, AGENT_SESSION_KEY: 's1' }
  const runner = new ContainerRunner({
    containers,
    home: bench.home,
    engine,
    hasNetwork: terminal.docker_network !== false,
    sharesFolders: false,
    settings: () =>
      readContainerSettings(terminal, { dir: bench.home, userHome: bench.home, engine }),
    workspace: bench.workspace,
    readable: [],
    shows: readable => [
      own,
      ...readable.map(path => ({ source: path, target: path, isReadOnly: true })),
    ],
    env: turnEnv,
    forwarded: names => Object.fromEntries(names.map(name => [name, `value of ${name}`])),
    log,
  })
  Object.assign(bench.ctx.turn, { runner, env: turnEnv, processes: processes.of('s1') })
  bench.say('once')
  return {
    bench,
    runner,
    containers,
    logged,
    run: (command, more = {}) => bench.json('terminal', { command, ...more }),
    async close() {
      await processes.close()
      await containers.close()
      if (bench !== options.bench) bench.close()
    },
  }
}

export type FakeDocker = {
  env: Record<string, string>
  state: (patch?: Partial<FakeState>) => FakeState
  /** The arguments of each call so far. */
  calls: () => string[][]
  close: () => void
}

/** `name` is the program's name on PATH. */
export const createFakeDocker = (name = 'docker', image = 'test/image'): FakeDocker => {
  const dir = mkdtempSync(join(tmpdir(), 'agent-fake-docker-'))
  mkdirSync(join(dir, 'bin'))
  const program = join(dir, 'bin', name)
  const script = join(dir, 'docker.mjs')
  // Without types, because the program is started many times.
  const source = readFileSync(join(import.meta.dirname, '_fake-docker.ts'), 'utf8')
  writeFileSync(script, stripTypeScriptTypes(source))
  writeFileSync(program, `#!/bin/sh\nexec '${process.execPath}' '${script}' "$@"\n`)
  chmodSync(program, 0o755)
  const file = join(dir, 'state.json')
  const initial: FakeState = { images: [image], refuses: [], containers: [] }
  writeFileSync(file, JSON.stringify(initial))
  const state = (patch: Partial<FakeState> = {}): FakeState => {
    const changed = { ...JSON.parse(readFileSync(file, 'utf8')), ...patch }
    if (Object.keys(patch).length > 0) writeFileSync(file, JSON.stringify(changed))
    return changed
  }
  return {
    env: { PATH: `${join(dir, 'bin')}:/usr/bin:/bin`, FAKE_DOCKER: dir },
    state,
    calls: () =>
      readFileSync(join(dir, 'calls.jsonl'), 'utf8')
        .split('\n')
        .filter(Boolean)
        .map(line => JSON.parse(line)),
    close: () => rmSync(dir, { recursive: true, force: true }),
  }
}
