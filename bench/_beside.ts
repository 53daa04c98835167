/** Another server beside ours: `--beside "CMD" [--in FOLDER]`. It listens on `{port}` or `$PORT`, and answers /health. */
import { join } from 'node:path'
import { createClient } from '../test/_http.ts'
import { freePort, type Program, startProgram } from '../build/start-program.ts'

export type Beside = { command: string; directory: string }

export type Other = {
  program: Program
  /** A session of 20 messages; undefined where it has no such API. */
  sessionPath: string | undefined
}

const MESSAGES = Array.from({ length: 20 }, (_, index) => ({
  role: index % 2 === 0 ? 'user' : 'assistant',
  content: `Message ${index}: ${'some words of a text '.repeat(12)}`,
}))

const importSession = async (url: string): Promise<string | undefined> => {
  const { closeClient, post } = createClient(() => url)
  const { status, body } = await post('/api/session/import', {
    title: 'Twenty',
    messages: MESSAGES,
  })
  closeClient()
  const id = status === 200 ? body?.session?.session_id : undefined
  return typeof id === 'string' ? `/api/session?session_id=${encodeURIComponent(id)}` : undefined
}

/** Starts it in a home of its own below `root`. The command is one program with its arguments. */
export const startOther = async (beside: Beside, root: string): Promise<Other> => {
  const port = await freePort()
  const command = `exec ${beside.command.replaceAll('{port}', String(port))}`
  const program = await startProgram('sh', ['-c', command], {
    home: join(root, 'beside'),
    cwd: beside.directory,
    env: { PORT: String(port) },
    port,
    outputPath: join(root, 'beside.log'),
    startTimeoutMs: 120_000,
  })
  return { program, sessionPath: await importSession(program.url) }
}
