/** Schemas of ACP messages, parsed tolerantly: unknown or invalid parts are dropped. */
import { z } from 'zod'
import { QuotaMeta, ReportedTokens } from './usage.ts'

const text = z.string().nullish().catch(null)

export const listOf = <T extends z.ZodType>(item: T) =>
  z
    .array(z.unknown())
    .catch([])
    .transform(items =>
      items.flatMap(value => {
        const parsed = item.safeParse(value)
        return parsed.success ? [parsed.data as z.output<T>] : []
      }),
    )

const Block = z.discriminatedUnion('type', [
  z.object({ type: z.literal('text'), text: z.string() }),
  z.object({ type: z.literal('image'), data: z.string(), mimeType: z.string(), uri: text }),
  z.object({ type: z.literal('audio'), mimeType: z.string() }),
  z.object({ type: z.literal('resource_link'), uri: z.string(), name: text }),
  z.object({
    type: z.literal('resource'),
    resource: z.object({ uri: z.string(), text: text, mimeType: text }),
  }),
])
export type Block = z.infer<typeof Block>

const CallContent = z.discriminatedUnion('type', [
  z.object({ type: z.literal('content'), content: Block }),
  z.object({ type: z.literal('diff'), path: z.string(), oldText: text, newText: z.string() }),
  z.object({ type: z.literal('terminal'), terminalId: z.string() }),
])
export type CallContent = z.infer<typeof CallContent>

const printed = z.object({ data: z.string() }).nullish().catch(null)

/** How agents send the output and exit of a command that they run themselves, and which of their tools it is. */
const CallMeta = z
  .object({
    toolName: text,
    claudeCode: z.object({ toolName: text }).nullish().catch(null),
    qwenInteractionKind: text,
    terminal_output: printed,
    terminal_output_delta: printed,
    terminal_exit: z
      .object({ exit_code: z.number().int().nullish(), signal: z.string().nullish() })
      .nullish()
      .catch(null),
  })
  .nullish()
  .catch(null)

const callFields = {
  toolCallId: z.string(),
  title: text,
  kind: text,
  status: text,
  name: text,
  content: listOf(CallContent).optional(),
  locations: listOf(z.object({ path: z.string(), line: z.number().nullish() })).optional(),
  rawInput: z.unknown().optional(),
  rawOutput: z.unknown().optional(),
  _meta: CallMeta,
}
export const CallUpdate = z.object(callFields)
export type CallUpdate = z.infer<typeof CallUpdate>

const Mode = z.object({ id: z.string(), name: z.string(), description: text })
export const Modes = z.object({ currentModeId: z.string(), availableModes: listOf(Mode) })
export type Modes = z.infer<typeof Modes>

/** The models field used before config options; some agents still send it. */
export const LegacyModels = z.object({
  currentModelId: z.string(),
  availableModels: listOf(z.object({ modelId: z.string(), name: z.string() })),
})

const Choice = z.object({ value: z.string(), name: z.string(), description: text })
const optionHead = { id: z.string(), name: z.string(), description: text, category: text }
const ConfigOption = z.discriminatedUnion('type', [
  z.object({
    ...optionHead,
    type: z.literal('select'),
    currentValue: z.string(),
    /** Flat, or in named groups. */
    options: listOf(
      z.union([Choice, z.object({ name: z.string(), options: listOf(Choice) })]),
    ).transform(options =>
      options.flatMap(option => ('options' in option ? option.options : [option])),
    ),
  }),
  z.object({ ...optionHead, type: z.literal('boolean'), currentValue: z.boolean() }),
])
export const ConfigOptions = listOf(ConfigOption)
export type ConfigOption = z.infer<typeof ConfigOption>

export const Commands = listOf(
  z.object({
    name: z.string().min(1),
    description: z.string().catch(''),
    input: z.object({ hint: z.string() }).nullish().catch(null),
  }),
)
export type Command = z.infer<typeof Commands>[number]

const PlanEntry = z.object({
  content: z.string(),
  status: z.enum(['pending', 'in_progress', 'completed', 'cancelled']).catch('pending'),
})
export type PlanEntry = z.infer<typeof PlanEntry>

/** A plan in tool arguments; agents use different keys for the text. */
export const PlanSteps = listOf(
  z
    .object({ content: text, description: text, step: text, title: text, status: z.unknown() })
    .transform(({ content, description, step, title, status }) => ({
      content: content ?? description ?? step ?? title,
      status,
    }))
    .pipe(PlanEntry),
)

const kind = <T extends string, S extends z.ZodRawShape>(name: T, shape: S) =>
  z.object({ sessionUpdate: z.literal(name), ...shape })

export const Update = z.discriminatedUnion('sessionUpdate', [
  kind('user_message_chunk', { content: Block.nullish().catch(null), messageId: text }),
  kind('agent_message_chunk', {
    content: Block,
    _meta: z.object({ usage: ReportedTokens }).nullish().catch(null),
  }),
  kind('agent_thought_chunk', { content: Block }),
  kind('tool_call', callFields),
  kind('tool_call_update', callFields),
  kind('plan', { entries: listOf(PlanEntry) }),
  kind('available_commands_update', { availableCommands: Commands }),
  kind('current_mode_update', { currentModeId: z.string() }),
  kind('config_option_update', { configOptions: ConfigOptions }),
  kind('session_info_update', { title: text }),
  kind('usage_update', {
    used: z.number().nonnegative(),
    size: z.number().nonnegative(),
    cost: z.object({ amount: z.number(), currency: z.string() }).nullish().catch(null),
  }),
  kind('notice', { severity: text, title: z.string(), description: text }),
])
export type Update = z.infer<typeof Update>

const updateKinds = new Set(Update.options.map(({ shape }) => shape.sessionUpdate.value as string))

/** An update of a kind added to the protocol later. */
export const isUnknownUpdate = (value: unknown): boolean => {
  const header = z.object({ sessionUpdate: z.string() }).safeParse(value)
  return header.success && !updateKinds.has(header.data.sessionUpdate)
}

export const Notification = z.object({ sessionId: z.string(), update: z.unknown() })

/** The used parts of the responses to `session/new`, `session/load`, and `session/resume`. */
export const OpenedSession = z.object({
  sessionId: z.string().min(1).optional(),
  modes: Modes.nullish().catch(null),
  configOptions: ConfigOptions.nullish().catch(null),
  models: LegacyModels.nullish().catch(null),
})
export type OpenedSession = z.infer<typeof OpenedSession>

/** One page of `session/list`. */
export const SessionList = z.object({
  sessions: listOf(
    z.object({ sessionId: z.string().min(1), cwd: text, title: text, updatedAt: text }),
  ),
  nextCursor: text,
})

export const PromptResult = z.object({
  stopReason: z.string(),
  usage: ReportedTokens,
  _meta: QuotaMeta,
})
export type PromptResult = z.infer<typeof PromptResult>

const variables = z.record(z.string(), z.string()).nullish().catch(null)

/** The response to `initialize`, with the agent's capabilities. */
export const InitializeResponse = z.object({
  protocolVersion: z.number(),
  agentInfo: z.object({ name: z.string(), title: text, version: text }).nullish().catch(null),
  authMethods: listOf(
    z.object({
      id: z.string(),
      name: z.string(),
      description: text,
      type: text,
      args: listOf(z.string()),
      env: variables,
      _meta: z
        .object({
          'terminal-auth': z
            .object({ command: z.string(), args: listOf(z.string()), env: variables })
            .nullish()
            .catch(null),
        })
        .nullish()
        .catch(null),
    }),
  ),
  agentCapabilities: z
    .object({
      loadSession: z.boolean().catch(false),
      promptCapabilities: z.object({ image: z.boolean().catch(false) }).catch({ image: false }),
      mcpCapabilities: z
        .object({ http: z.boolean().catch(false), sse: z.boolean().catch(false) })
        .catch({ http: false, sse: false }),
      sessionCapabilities: z
        .object({
          resume: z.unknown().optional(),
          close: z.unknown().optional(),
          fork: z.unknown().optional(),
          list: z.unknown().optional(),
        })
        .catch({ resume: null, close: null, fork: null, list: null }),
    })
    .catch({
      loadSession: false,
      promptCapabilities: { image: false },
      mcpCapabilities: { http: false, sse: false },
      sessionCapabilities: { resume: null, close: null, fork: null, list: null },
    }),
})
export type InitializeResponse = z.infer<typeof InitializeResponse>
