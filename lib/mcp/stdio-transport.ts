/**
 * MCP over the standard streams of a child process, one JSON message per line. The transport of the library starts no
 * process group and passes on a part of our environment.
 */
import type { ChildProcess } from 'node:child_process'
import type { Transport } from '@modelcontextprotocol/client'
import { isObjectOrArray } from '../base/json.ts'
import { killGroup, spawnGroup } from '../base/process.ts'
import type { StdioServer } from './config.ts'

/** A server that sends a longer line is killed before it fills the memory. */
const MAX_LINE_CHARS = 16 * 1024 * 1024
/** SIGTERM and SIGKILL, counted from the closing of its input. */
const END_MS = 300
const KILL_MS = 1_000

/** Variables for search paths, locale and temporary files. None of these names is used for a secret. */
const INHERITED_VARIABLES =
  /^(?:PATH|HOME|USER|LOGNAME|SHELL|TERM|TZ|TMPDIR|TEMP|TMP|LANG|LANGUAGE|LC_\w+|XDG_\w+|SYSTEMROOT|SYSTEMDRIVE|COMSPEC|PATHEXT|WINDIR|APPDATA|LOCALAPPDATA|USERPROFILE|PROGRAMFILES|PROGRAMDATA)$/i

export const serverEnvironment = (
  env: Readonly<Record<string, string>>,
  own: Readonly<Record<string, string>>,
): Record<string, string> => ({
  ...Object.fromEntries(Object.entries(env).filter(([name]) => INHERITED_VARIABLES.test(name))),
  ...own,
})

/** Joins chunks to lines. */
const createLineReader = (onLine: (line: string) => void, onOverflow: () => void) => {
  let pieces: string[] = []
  let length = 0
  return (chunk: string): void => {
    const [first = '', ...rest] = chunk.split('\n')
    length += first.length
    pieces.push(first)
    for (const next of rest) {
      onLine(pieces.join(''))
      pieces = [next]
      length = next.length
    }
    if (length > MAX_LINE_CHARS) {
      pieces = []
      length = 0
      onOverflow()
    }
  }
}

export type StdioTransport = Transport & {
  /** How the process ended, in words; null while it runs. */
  exitReason(): string | null
}

export const createStdioTransport = (
  server: StdioServer,
  given: {
    env: Readonly<Record<string, string>>
    cwd: string
    /** Standard error, and lines of standard output that are no JSON. */
    onOutput: (text: string) => void
  },
): StdioTransport => {
  let child: ChildProcess | null = null
  let exitReason: string | null = null
  let ended: Promise<void> = Promise.resolve()

  const receive = (line: string): void => {
    const text = line.trim()
    if (text === '') return
    let message: unknown
    try {
      message = text.startsWith('{') || text.startsWith('[') ? JSON.parse(text) : undefined
    } catch {
      // Looks like a message but is not: treated as output.
      message = undefined
    }
    if (!isObjectOrArray(message)) {
      given.onOutput(`${line}\n`)
      return
    }
    for (const one of Array.isArray(message) ? message : [message]) transport.onmessage?.(one)
  }

  const transport: StdioTransport = {
    exitReason: () => exitReason,

    start: () =>
      new Promise((resolve, reject) => {
        const started = spawnGroup(server.command, server.args, {
          cwd: server.cwd ?? given.cwd,
          env: given.env,
          stdio: ['pipe', 'pipe', 'pipe'],
        })
        child = started
        const { promise, resolve: settle } = Promise.withResolvers<void>()
        ended = promise
        const finish = (how: string) => {
          if (exitReason !== null) return
          exitReason = how
          settle()
          // Its remaining children hold the pipes and are of no use without it.
          killGroup(started, 'SIGKILL')
          transport.onclose?.()
        }
        started.once('spawn', resolve)
        started.once('error', error => {
          const sentence =
            'code' in error && error.code === 'ENOENT'
              ? `The program "${server.command}" was not found.`
              : error.message
          reject(new Error(sentence))
          finish(sentence)
        })
        started.once('exit', (code, signal) => {
          const how = signal ? `it was ended by ${signal}` : `it ended with exit code ${code}`
          // Its last lines may still be in the pipe.
          const late = setTimeout(finish, 50, how)
          started.once('close', () => {
            clearTimeout(late)
            finish(how)
          })
        })
        const take = createLineReader(receive, () => {
          given.onOutput('\n[A message was longer than 16 MB; the server was stopped.]\n')
          killGroup(started, 'SIGKILL')
        })
        started.stdout?.setEncoding('utf8').on('data', take)
        started.stderr?.setEncoding('utf8').on('data', given.onOutput)
        // EPIPE after the exit, which is reported by itself.
        for (const pipe of [started.stdin, started.stdout, started.stderr])
          pipe?.on('error', error => transport.onerror?.(error))
      }),

    send: message =>
      new Promise((resolve, reject) => {
        const input = child?.stdin
        if (!input || exitReason !== null || !input.writable) {
          reject(new Error('The server is not running.'))
          return
        }
        input.write(`${JSON.stringify(message)}\n`, error => (error ? reject(error) : resolve()))
      }),

    async close() {
      const running = child
      if (!running || exitReason !== null) return
      running.stdin?.end()
      // The protocol ends with the end of input; the signals are for servers that ignore it.
      const polite = setTimeout(killGroup, END_MS, running, 'SIGTERM')
      const final = setTimeout(killGroup, KILL_MS, running, 'SIGKILL')
      await ended
      clearTimeout(polite)
      clearTimeout(final)
    },
  }
  return transport
}
