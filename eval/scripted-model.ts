/**
 * The model of the regression run: plays the scripts of the tasks over real HTTP and counts what it was sent. A token is
 * four characters here, and everything a request has in common with the one before it counts as cached. A request that lost
 * something of the one before is refused, so that its task fails.
 */
import { createProvider, type Recorded, type Step } from '../test/_provider.ts'
import type { ScriptStep, Seen, Task } from './task.ts'

const CHARS_PER_TOKEN = 4

type Message = {
  role: string
  content: unknown
  tool_calls?: { id: string }[]
  tool_call_id?: string
}

const textOf = ({ content }: Message): string =>
  typeof content === 'string' ? content : JSON.stringify(content ?? '')

const commonPrefix = (a: string, b: string): number => {
  const length = Math.min(a.length, b.length)
  let at = 0
  while (at < length && a.charCodeAt(at) === b.charCodeAt(at)) at++
  return at
}

/** A conversation with the model: of a task, or of one of its subagents. */
type Conversation = { task: Task; key: string; script: readonly ScriptStep[] }

/** What the engine lost: a call without its one result, or something that was sent before and is no longer the same. */
const lossIn = (messages: readonly Message[], before: readonly Message[]): string | null => {
  const changed = before.findIndex(
    (message, at) => JSON.stringify(message) !== JSON.stringify(messages[at]),
  )
  if (changed >= 0) return `Message ${changed + 1} is no longer what was sent before.`
  for (const [at, { tool_calls: made = [] }] of messages.entries()) {
    const ids = made.map(({ id }) => id)
    const results = messages.slice(at + 1, at + 1 + ids.length).map(one => one.tool_call_id)
    if (ids.join() !== results.join())
      return `The calls ${ids.join(', ')} have the results ${results.join(', ')}.`
  }
  return null
}

/** What a script may depend on, from what the model was sent. */
const seenIn = (messages: readonly Message[], workspace: string): Seen => {
  const isResult = ({ role }: Message) => role === 'tool'
  const last = messages.findLastIndex(({ tool_calls: made }) => made?.length)
  const newest = messages.slice(last + 1).filter(isResult)
  const all = messages.filter(isResult).map(textOf)
  return { workspace, result: all.at(-1) ?? '', results: newest.map(textOf), all }
}

const refused = (message: string): Step => ({ status: 400, body: { error: { message } } })

/**
 * `workspaceOf` is the directory of a task; its path is counted as if it were always the same length. `killed`: ids of the
 * tasks whose service was killed.
 */
export const createScriptedModel = async (
  tasks: readonly Task[],
  workspaceOf: (task: Task) => string,
  killed: ReadonlySet<string>,
) => {
  const provider = await createProvider()
  const previous = new Map<string, { text: string; messages: readonly Message[] }>()

  const conversationOf = (messages: readonly Message[]): Conversation | undefined => {
    const request = messages.find(({ role }) => role === 'user')
    const text = request ? textOf(request) : ''
    const task = tasks.find(one => text.includes(`[Workspace: ${workspaceOf(one)}]`))
    if (task) return { task, key: task.id, script: task.script }
    const system = messages[0] ? textOf(messages[0]) : ''
    const parent = tasks.find(one => system.includes(`Work in ${workspaceOf(one)} `))
    const script = parent?.subagents?.[text]
    return parent && script && { task: parent, key: `${parent.id}: ${text}`, script }
  }

  const usageOf = (
    { task, key }: Conversation,
    body: Recorded['body'],
    step: Step,
  ): Step['usage'] => {
    const sent = `${JSON.stringify(body.tools)}${JSON.stringify(body.messages)}`
    const text = sent.replaceAll(workspaceOf(task), '/workspace')
    const cached = commonPrefix(text, previous.get(key)?.text ?? '')
    previous.set(key, { text, messages: body.messages })
    return {
      prompt_tokens: Math.ceil(text.length / CHARS_PER_TOKEN),
      completion_tokens: Math.ceil(JSON.stringify(step).length / CHARS_PER_TOKEN),
      prompt_tokens_details: { cached_tokens: Math.floor(cached / CHARS_PER_TOKEN) },
    }
  }

  const nextStep = ({ task, key, script }: Conversation, messages: readonly Message[]): Step => {
    const index = messages.filter(({ role }) => role === 'assistant').length
    // Until the service is killed, so that it is killed at the same step each time.
    if (key === task.id && index === task.killAfter && !killed.has(task.id))
      return { end: 'headers' }
    const scripted = script[index]
    if (!scripted) return refused('The script of this task has ended.')
    const loss = lossIn(messages, previous.get(key)?.messages ?? [])
    if (loss !== null) return refused(loss)
    try {
      const step =
        typeof scripted === 'function' ? scripted(seenIn(messages, workspaceOf(task))) : scripted
      const ids = step.toolCalls?.map((one, at) => ({ ...one, id: `call_${index}_${at}` }))
      return { ...step, ...(ids && { toolCalls: ids }) }
    } catch (error) {
      return refused(`Step ${index + 1}: ${error instanceof Error ? error.message : error}`)
    }
  }

  provider.otherwise = body => {
    const messages = body.messages as Message[]
    // A call without tools asks for the title of the chat.
    if (!body.tools?.length) return { text: 'Evaluation' }
    const conversation = conversationOf(messages)
    if (!conversation) return refused('This is no task of the evaluation.')
    const step = nextStep(conversation, messages)
    if (step.status !== undefined || step.end !== undefined) return step
    return { ...step, usage: usageOf(conversation, body, step) }
  }
  return provider
}
