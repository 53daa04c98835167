/**
 * A server as a child process: one JSON message a line, in a process group of its own so that what it starts ends with
 * it. The library's own transport starts no group, and hands down a part of our environment.
 */
import type { ChildProcess } from 'node:child_process'
import type { Transport } from '@modelcontextprotocol/client'
import { isObjectOrArray } from '../base/json.ts'
import { killGroup, spawnGroup } from '../base/process.ts'
import type { StdioServer } from './config.ts'

/** Longer lines are no message anybody could use; the server is stopped before it fills the memory. */
const MAX_LINE_CHARS = 16 * 1024 * 1024
/** After its input has been closed, and again after the polite signal. */
const END_MS = 300
const KILL_MS = 1_000

/** What a program needs to find others and to speak the person's language; no secret has one of these names. */
const INHERITED_VARIABLES =
  /^(?:PATH|HOME|USER|LOGNAME|SHELL|TERM|TZ|TMPDIR|TEMP|TMP|LANG|LANGUAGE|LC_\w+|XDG_\w+|SYSTEMROOT|SYSTEMDRIVE|COMSPEC|PATHEXT|WINDIR|APPDATA|LOCALAPPDATA|USERPROFILE|PROGRAMFILES|PROGRAMDATA)$/i

export const serverEnvironment = (
  env: Readonly<Record<string, string>>,
  own: Readonly<Record<string, string>>,
): Record<string, string> => ({
  ...Object.fromEntries(Object.entries(env).filter(([name]) => INHERITED_VARIABLES.test(name))),
  ...own,
})

/** Whole lines out of pieces. What is no JSON is the server's chatter and goes where its errors go. */
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
  /** How it ended, in words, once it has. */
  exitReason(): string | null
}

export const createStdioTransport = (
  server: StdioServer,
  given: {
    env: Readonly<Record<string, string>>
    cwd: string
    /** What it prints that is no message, from either of its outputs. */
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
      // A line that only looks like a message: treated like any other chatter.
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
          // Children it left behind would hold its pipes, and nobody could reach them any more.
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
          // Its last lines may still be in the pipe, for a moment.
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
        // Writing to one that has just ended: its end says it all.
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
      // The end of its input is how this protocol says goodbye; the signals are for those who do not listen.
      const polite = setTimeout(killGroup, END_MS, running, 'SIGTERM')
      const final = setTimeout(killGroup, KILL_MS, running, 'SIGKILL')
      await ended
      clearTimeout(polite)
      clearTimeout(final)
    },
  }
  return transport
}
