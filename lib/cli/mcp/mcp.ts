/** `agent-webui mcp`: sessions, search, and the agent itself as tools of an MCP server, on standard input and output. */
import type { CallToolResult, ServerContext } from '@modelcontextprotocol/server'
import { z } from 'zod'
import type { Config } from '../../config.ts'
import { messageOf } from '../../errors.ts'
import { listRecorded } from '../../sessions/host-db/recorded-list.ts'
import { redact } from '../../base/redact/redact.ts'
import { StoredSessions } from '../../sessions/stored-sessions.ts'
import type { ServeArguments } from '../arguments.ts'
import { openHome } from '../open-home.ts'
import { RecordedSessions } from '../recorded-sessions.ts'
import { reserveOutput } from '../reserve-output.ts'
import type { Interrupts } from '../run.ts'
import { createTerminalEngine } from '../terminal-engine.ts'
import { Asker } from './asker.ts'
import { SessionLibrary } from './session-library.ts'

export type McpOptions = {
  config: Config
  addon: string | undefined
  version: string
  log: (line: string) => void
  cwd: string
  onInterrupt: Interrupts
}

const OK = 0

const Session = z.object({
  session_id: z.string(),
  title: z.string(),
  updated_at: z.string(),
  messages: z.number(),
  model: z.string().nullable(),
  workspace: z.string().nullable(),
  source: z.string(),
})

const INSTRUCTIONS =
  'Sessions of a personal AI agent on this machine. Read and search its earlier conversations, or ask it: ask_agent runs a whole turn with its own tools, in a workspace on this machine.'

/** Errors are results that the model reads; the reason is a sentence. */
const result = async <T extends object>(
  work: () => T | Promise<T>,
  log: (line: string) => void,
): Promise<CallToolResult> => {
  try {
    const structuredContent = { ...(await work()) } as Record<string, unknown>
    const text =
      typeof structuredContent.text === 'string'
        ? structuredContent.text
        : JSON.stringify(structuredContent)
    return { content: [{ type: 'text', text }], structuredContent }
  } catch (error) {
    if (error instanceof TypeError) log(String(error.stack))
    const text = redact(messageOf(error))
    return { content: [{ type: 'text', text }], isError: true }
  }
}

/** Serves until the client disconnects. Returns the exit code. */
export const mcp = async (
  { profile, model }: ServeArguments,
  { config, addon, version, log: write, cwd, onInterrupt }: McpOptions,
): Promise<number> => {
  const log = (line: string): void => write(redact(line))
  const { McpServer } = await import('@modelcontextprotocol/server')
  const { StdioServerTransport } = await import('@modelcontextprotocol/server/stdio')
  let asker: Asker | null = null
  const engine = await createTerminalEngine(config, {
    addon,
    version,
    observer: {
      event: (event, id) => asker?.event(event, id),
      warning: message => asker?.warn(message) ?? log(message),
      prompt: (id, text) => sessions.recordPrompt(id, text),
      message: (id, message) => sessions.recordMessage(id, message),
      approve: async (ask, timeoutMs) => asker?.approve(ask, timeoutMs) ?? 'deny',
      clarify: async (question, timeoutMs) => asker?.clarify(question, timeoutMs) ?? null,
    },
    problem: line => log(line),
  })
  const home = await openHome(engine, profile)
  const sessions = new RecordedSessions({
    engine,
    home,
    source: 'mcp',
    addon,
    onError: (error, file) => log(`Couldn't save this session in ${file}: ${messageOf(error)}`),
  })
  const stored = new StoredSessions(config.stateDir, addon)
  const recorded = () => listRecorded(sessions.file, addon, ['cli', 'acp', 'mcp'])
  const library = new SessionLibrary(
    home,
    stored,
    engine.hostSessions,
    () => new Map(recorded().map(({ id, cwd: place }) => [id, place])),
  )
  const server = new McpServer(
    { name: 'agent-webui', title: 'Agent Web UI', version },
    { instructions: INSTRUCTIONS },
  )
  const own = new Asker({
    engine,
    sessions,
    recorded,
    isOfServer: id => stored.session(id, home.name) !== undefined,
    model,
    cwd,
    hasForms: () => {
      const offered = server.server.getClientCapabilities()?.elicitation
      return offered !== undefined && (offered.form !== undefined || offered.url === undefined)
    },
    log,
  })
  asker = own

  const readOnly = { readOnlyHint: true, openWorldHint: false }
  server.registerTool(
    'list_sessions',
    {
      description: 'Lists the agent’s conversations, newest first.',
      inputSchema: z.object({
        limit: z.int().min(1).max(200).default(20),
        offset: z.int().min(0).default(0).describe('Sessions to skip.'),
      }),
      outputSchema: z.object({ sessions: z.array(Session), total: z.number() }),
      annotations: readOnly,
    },
    ({ limit, offset }) => result(() => library.list(limit, offset), log),
  )
  server.registerTool(
    'read_session',
    {
      description:
        'Reads the last messages of a conversation, oldest first. Pass the returned `older` as `before` to read on towards its beginning.',
      inputSchema: z.object({
        session_id: z.string().max(200),
        limit: z.int().min(1).max(200).default(30),
        before: z.int().min(0).optional(),
      }),
      outputSchema: z.object({
        session: Session,
        messages: z.array(
          z.object({
            role: z.string(),
            text: z.string(),
            tool_calls: z.array(z.string()).optional(),
            decisions: z.array(z.string()).optional(),
            at: z.string().optional(),
          }),
        ),
        older: z.number().nullable(),
      }),
      annotations: readOnly,
    },
    ({ session_id, limit, before }) => result(() => library.read(session_id, limit, before), log),
  )
  server.registerTool(
    'search_sessions',
    {
      description:
        'Searches titles and messages of all conversations for sessions with all the words; quotes keep words together.',
      inputSchema: z.object({
        query: z.string().min(1).max(500),
        limit: z.int().min(1).max(50).default(10),
      }),
      outputSchema: z.object({ hits: z.array(Session.extend({ snippet: z.string() })) }),
      annotations: readOnly,
    },
    ({ query, limit }) => result(() => library.search(query, limit), log),
  )
  server.registerTool(
    'ask_agent',
    {
      description:
        'Gives the agent a task or a question and returns its final answer. It works with its own tools and may change files in the workspace. May take minutes.',
      inputSchema: z.object({
        prompt: z.string().min(1).max(500_000),
        session_id: z
          .string()
          .max(200)
          .optional()
          .describe('Continues a conversation that ask_agent returned. Absent: a new one.'),
        workspace: z
          .string()
          .max(4_000)
          .optional()
          .describe('Absolute path of the directory to work in.'),
        model: z.string().max(500).optional().describe('Absent: the configured one.'),
      }),
      outputSchema: z.object({
        session_id: z.string(),
        text: z.string(),
        notes: z.array(z.string()),
      }),
      annotations: { readOnlyHint: false, destructiveHint: true, openWorldHint: true },
    },
    (request, context: ServerContext) => result(() => own.ask(request, context), log),
  )

  const interrupted = Promise.withResolvers<number>()
  const removeListener = onInterrupt(interrupted.resolve)
  try {
    server.server.onclose = () => interrupted.resolve(OK)
    server.server.onerror = error => log(messageOf(error))
    process.stdin.once('close', () => interrupted.resolve(OK))
    process.stdin.once('end', () => interrupted.resolve(OK))
    const output = reserveOutput()
    // A client that reads nothing any more is gone, although it keeps the input open.
    output.once('close', () => interrupted.resolve(OK))
    await server.connect(new StdioServerTransport(process.stdin, output))
    return await interrupted.promise
  } finally {
    removeListener()
    own.close()
    await server.close()
    await engine.close()
    await sessions.flush()
  }
}
