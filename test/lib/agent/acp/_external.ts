/** Turns of the test agent without a service around it: what it was asked, what it said, what was kept of it. */
import { realpathSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import { bundleProgram } from '../../../_program.ts'
import { type AgentLimits, ExternalAgents } from '../../../../lib/agent/acp/agents.ts'
import { clarify } from '../../../../lib/agent/tools/clarify.ts'
import type {
  ExternalAgentSettings,
  ExternalSession,
  ForwardedMcpServer,
  WithheldServer,
} from '../../../../lib/agent/external-agent.ts'
import type {
  AgentEvent,
  AgentRequest,
  ApprovalRequest,
  LoopMessage,
  ModelEndpoint,
  Outcome,
  RunMessage,
} from '../../../../lib/agent/types.ts'
import type { ApprovalChoice } from '../../../../lib/schema/question.ts'
import { createTestClock } from '../../../_clock.ts'
import { tempDir } from '../../../_temp-dir.ts'

const AGENT = bundleProgram(join(import.meta.dirname, '../../../_acp-agent.ts'))

export type TurnOutput = {
  outcome: Outcome
  events: AgentEvent[]
  messages: RunMessage[]
  warnings: string[]
  text: string
}

export const createExternal = (traits = '') => {
  const workspace = realpathSync(tempDir('acp'))
  writeFileSync(join(workspace, 'a.txt'), 'first\n')
  const lines: string[] = []
  const clock = createTestClock()
  let limits: Partial<AgentLimits> = { graceMs: 500 }
  const build = () => new ExternalAgents(clock, 'test', line => void lines.push(line), limits)
  let agents = build()
  const saved = new Map<string, ExternalSession>()
  const asked: ApprovalRequest[] = []
  const questions: string[] = []
  const history: LoopMessage[] = []
  let next = 0
  const titles: string[] = []
  const place = {
    traits,
    env: {} as Record<string, string>,
    mcpServers: [] as ForwardedMcpServer[],
    withheld: [] as WithheldServer[],
    settings: undefined as ExternalAgentSettings | undefined,
  }

  const endpoint = (model: string | null = null): ModelEndpoint => ({
    provider: 'acp',
    model: model ? `tester:${model}` : 'tester',
    apiMode: 'acp',
    baseUrl: '',
    apiKey: null,
    contextLength: 0,
    command: [process.execPath, AGENT],
    agent: {
      id: 'tester',
      name: 'Tester',
      model,
      ...(place.settings && { settings: place.settings }),
    },
  })

  const env = () => ({
    PATH: process.env.PATH ?? '',
    HOME: workspace,
    ACP_TEST: place.traits,
    ACP_TEST_STATE: join(workspace, '.state.json'),
    ...place.env,
  })
  const external = () => ({
    home: 'default',
    env: env(),
    mcpServers: place.mcpServers,
    withheld: place.withheld,
    onTitle: (title: string) => void titles.push(title),
    load: (agent: string) => saved.get(agent) ?? null,
    save: (agent: string, session: ExternalSession) => void saved.set(agent, session),
  })

  return {
    external,
    workspace,
    clock,
    lines,
    saved,
    asked,
    questions,
    titles,
    history,
    place,
    endpoint,
    agents: () => agents,
    /** Before the first message. */
    limit(given: Partial<AgentLimits>) {
      limits = { ...limits, ...given }
      agents = build()
    },
    /** As after a restart of the service: other processes, the same records. */
    async restart() {
      await agents.close()
      agents = build()
    },
    async say(
      words: string,
      {
        approve = 'once',
        answer = null,
        react = () => undefined,
        model = null,
        signal = new AbortController().signal,
        request = {},
      }: {
        approve?: ApprovalChoice
        answer?: string | null
        react?: (event: AgentEvent) => void
        model?: string | null
        signal?: AbortSignal
        request?: Partial<AgentRequest>
      } = {},
    ): Promise<TurnOutput> {
      const events: AgentEvent[] = []
      history.push({ role: 'user', content: words })
      const outcome = await agents.run(
        {
          endpoint: endpoint(model),
          system: '',
          history: [...history],
          tools: [clarify],
          workspace,
          env: env(),
          forbidden: [],
          outside: 'dangerous',
          maxSteps: 90,
          signal,
          nextMessageId: () => `m${++next}`,
          approve: async ask => {
            asked.push(ask)
            return approve
          },
          clarify: async question => {
            questions.push(question)
            return answer
          },
          providers: {},
          clock,
          sessionKey: 'ours',
          external: external(),
          ...request,
        },
        event => {
          events.push(event)
          react(event)
        },
      )
      const messages = events.flatMap(event => (event.type === 'message' ? [event.message] : []))
      for (const { id: _, reasoning: __, model: ___, provider: ____, ...wire } of messages)
        history.push(wire)
      return {
        outcome,
        events,
        messages,
        warnings: events.flatMap(event => (event.type === 'warning' ? [`${event.message}`] : [])),
        text: messages
          .filter(({ role }) => role === 'assistant')
          .map(({ content }) => content)
          .join(''),
      }
    },
    [Symbol.asyncDispose]() {
      return this.close()
    },
    async close() {
      await agents.close()
      rmSync(workspace, { recursive: true, force: true })
    },
  }
}

export type Outside = ReturnType<typeof createExternal>

/** Each test has an agent and a workspace of its own; the agent starts with the first message. */
export const agentSuite = (name: string) => {
  const test = suite<Outside>(name)
  test.before.each(at => void Object.assign(at, createExternal()))
  test.after.each(at => at.close())
  return test
}
