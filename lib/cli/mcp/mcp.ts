/** `agent-webui mcp`: sessions, search, and the agent itself as tools of an MCP server, on standard input and output. */
import type { CallToolResult, ServerContext } from '@modelcontextprotocol/server'
import { z } from 'zod'
import { redact } from '../../base/redact/redact.ts'
import { messageOf } from '../../errors.ts'
import { listRecorded } from '../../sessions/host-db/recorded-list.ts'
import { StoredSessions } from '../../sessions/stored-sessions.ts'
import { openRecordedSessions } from '../recorded-sessions.ts'
import { reserveOutput } from '../reserve-output.ts'
import type { CommandContext } from '../run.ts'
import { Asker } from './asker.ts'
import { SessionHits, SessionLibrary, SessionList, SessionPart } from './session-library.ts'

const OK = 0

const INSTRUCTIONS =
  'Sessions of a personal AI agent on this machine. Read and search its earlier conversations, or ask it: ask_agent runs a whole turn with its own tools, in a workspace on this machine.'

/** Serves until the client disconnects. Returns the exit code. */
export const mcp = async (
  { profile, model }: { profile: string | null; model: string | null },
  context: CommandContext,
): Promise<number> => {
  const { config, addon, cwd, terminal, onInterrupt } = context
  const log = (line: string): void => terminal.note(redact(line))
  const { McpServer } = await import('@modelcontextprotocol/server')
  const { StdioServerTransport } = await import('@modelcontextprotocol/server/stdio')
  const sessions = await openRecordedSessions(context, profile, 'mcp', {
    observer: {
      event: (event, id) => asker.event(event, id),
      warning: message => asker.warn(message),
      approve: (ask, timeoutMs) => asker.approve(ask, timeoutMs),
      clarify: (question, timeoutMs) => asker.clarify(question, timeoutMs),
    },
    problem: log,
  })
  const ownSessions = new StoredSessions(config.stateDir, addon)
  const recorded = () => listRecorded(sessions.file, addon, ['cli', 'acp', 'mcp'])
  const { home, engine } = sessions
  const library = new SessionLibrary(home, ownSessions, engine.hostSessions, recorded)
  const version = await context.version()
  const server = new McpServer(
    { name: 'agent-webui', title: 'Agent Web UI', version },
    { instructions: INSTRUCTIONS },
  )
  const asker = new Asker({
    ...{ sessions, recorded, model, cwd, log },
    isOfServer: id => ownSessions.session(id, home.name) !== undefined,
    hasForms: () => {
      const offered = server.server.getClientCapabilities()?.elicitation
      return offered !== undefined && (offered.form !== undefined || offered.url === undefined)
    },
  })

  /** Errors are results that the model reads; the reason is a sentence. */
  const result = async (work: () => object | Promise<object>): Promise<CallToolResult> => {
    try {
      const structuredContent = { ...(await work()) } as Record<string, unknown>
      const { text = JSON.stringify(structuredContent) } = structuredContent
      return { content: [{ type: 'text', text: String(text) }], structuredContent }
    } catch (error) {
      if (error instanceof TypeError) log(String(error.stack))
      return { content: [{ type: 'text', text: redact(messageOf(error)) }], isError: true }
    }
  }

  const readOnly = { readOnlyHint: true, openWorldHint: false }
  server.registerTool(
    'list_sessions',
    {
      description: 'Lists the agent’s conversations, newest first.',
      inputSchema: z.object({
        limit: z.int().min(1).max(200).default(20),
        offset: z.int().min(0).default(0).describe('Sessions to skip.'),
      }),
      outputSchema: SessionList,
      annotations: readOnly,
    },
    ({ limit, offset }) => result(() => library.list(limit, offset)),
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
      outputSchema: SessionPart,
      annotations: readOnly,
    },
    ({ session_id, limit, before }) => result(() => library.read(session_id, limit, before)),
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
      outputSchema: SessionHits,
      annotations: readOnly,
    },
    ({ query, limit }) => result(() => library.search(query, limit)),
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
    (request, asking: ServerContext) => result(() => asker.ask(request, asking)),
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
    asker.close()
    await server.close()
    await sessions.close()
  }
}
