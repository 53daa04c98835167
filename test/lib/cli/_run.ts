/** Runs the command-line program with a home, a directory, arguments and answers, and returns its output. */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Machine } from '../../../lib/operations/checks/machine.ts'
import { commandOf } from '../../../lib/cli/cli.ts'
import { runCommand } from '../../../lib/cli/run.ts'
import type { Terminal } from '../../../lib/cli/terminal.ts'
import { firstSegments } from '../../../lib/http/routes.ts'
import { readVersion } from '../../../lib/operations/version.ts'
import { patternRoutes, routes } from '../../../router.ts'
import { programEnv, SERVICE } from '../../../build/start-program.ts'
import { tempDir } from '../../_temp-dir.ts'

/** The first segments of the paths of the server, as its own start gives them to `doctor`. */
export const OWN_NAMES = firstSegments(routes, patternRoutes)

const version = await readVersion({
  root: join(import.meta.dirname, '../../..'),
  path: process.env.PATH,
})

export type Ran = { code: number | null; out: string; err: string }

export type Running = {
  child: ChildProcess
  ended: Promise<Ran>
  /** Resolves when the output contains this text. */
  said: (words: string) => Promise<void>
}

export const createDesk = () => {
  const root = tempDir('desk')
  const home = join(root, '.agent')
  const workspace = join(root, 'project')
  for (const dir of [home, workspace]) mkdirSync(dir, { mode: 0o700 })

  const start = (args: readonly string[], { input = '', env = {} } = {}): Running => {
    const child = spawn(process.execPath, [SERVICE, ...args], {
      cwd: workspace,
      // Removes what a killed process leaves behind.
      env: programEnv(root, 0, { TMPDIR: root, ...env }),
      stdio: ['pipe', 'pipe', 'pipe'],
    })
    const texts = { out: '', err: '' }
    let wake: (() => void)[] = []
    let isClosed = false
    const hear = (name: 'out' | 'err') => (chunk: Buffer) => {
      texts[name] += String(chunk)
      for (const each of wake.splice(0)) each()
    }
    child.stdout.on('data', hear('out'))
    child.stderr.on('data', hear('err'))
    child.stdin.end(input)
    const ended = new Promise<Ran>(resolve =>
      child.once('close', code => {
        isClosed = true
        resolve({ code, ...texts })
        for (const each of wake.splice(0)) each()
        wake = []
      }),
    )
    const said = async (words: string): Promise<void> => {
      while (!texts.out.includes(words) && !texts.err.includes(words)) {
        if (isClosed)
          throw new Error(`It ended without saying ${words}:\n${texts.out}\n${texts.err}`)
        await new Promise<void>(resolve => wake.push(resolve))
      }
    }
    return { child, ended, said }
  }

  /** The same in this process, at a terminal that gives these answers; without them the terminal is not interactive. */
  const talk = async (
    args: readonly string[],
    given: {
      input?: string
      answers?: string[]
      env?: Record<string, string>
      machine?: Machine
      unpackAddon?: () => string
    } = {},
  ): Promise<Ran & { asked: string[] }> => {
    const texts = { out: '', err: '' }
    const asked: string[] = []
    const answers = [...(given.answers ?? [])]
    const terminal: Terminal = {
      interactive: given.answers !== undefined,
      out: words => {
        texts.out += words
      },
      note: line => {
        texts.err += `${line}\n`
      },
      ask: async prompt => {
        asked.push(prompt)
        return answers.shift() ?? null
      },
      askHidden: async prompt => {
        asked.push(prompt)
        return answers.shift() ?? null
      },
      readAll: async () => given.input ?? '',
      drain: async () => undefined,
    }
    const verb = commandOf(args)
    if (!verb) throw new Error(`${args[0]} starts the service`)
    const code = await runCommand(verb, args, {
      environment: programEnv(root, 0, given.env),
      terminal,
      cwd: workspace,
      onInterrupt: () => () => undefined,
      machine: given.machine,
      version,
      ownNames: OWN_NAMES,
      unpackAddon: given.unpackAddon,
    })
    return { code, ...texts, asked }
  }

  return {
    talk,
    root,
    home,
    workspace,
    config: (text: string) => writeFileSync(join(home, 'config.yaml'), text, { mode: 0o600 }),
    useProvider: (url: string) =>
      writeFileSync(
        join(home, 'config.yaml'),
        `model:\n  provider: custom\n  base_url: ${url}\n  default: test-model\n`,
        { mode: 0o600 },
      ),
    start,
    run: (args: readonly string[], given?: Parameters<typeof start>[1]) => start(args, given).ended,
    [Symbol.dispose]() {
      this.close()
    },
    close: () => rmSync(root, { recursive: true, force: true }),
  }
}

export type Desk = ReturnType<typeof createDesk>
