/**
 * The model of the regression run: plays the scripts of the tasks over real HTTP and counts what it was sent. A token is
 * four characters here, and everything a request has in common with the one before it counts as cached.
 */
import { createProvider, type Recorded, type Step } from '../test/_provider.ts'
import type { Task } from './task.ts'

const CHARS_PER_TOKEN = 4

type Message = { role: string; content: unknown }

const textOf = ({ content }: Message): string =>
  typeof content === 'string' ? content : JSON.stringify(content ?? '')

const commonPrefix = (a: string, b: string): number => {
  const length = Math.min(a.length, b.length)
  let at = 0
  while (at < length && a.charCodeAt(at) === b.charCodeAt(at)) at++
  return at
}

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
  const previous = new Map<string, string>()

  const taskOf = (messages: readonly Message[]): Task | undefined => {
    const request = messages.find(({ role }) => role === 'user')
    const text = request ? textOf(request) : ''
    return tasks.find(task => text.includes(`[Workspace: ${workspaceOf(task)}]`))
  }

  const usageOf = (task: Task, body: Recorded['body'], step: Step): Step['usage'] => {
    const sent = `${JSON.stringify(body.tools)}${JSON.stringify(body.messages)}`
    const text = sent.replaceAll(workspaceOf(task), '/workspace')
    const cached = commonPrefix(text, previous.get(task.id) ?? '')
    previous.set(task.id, text)
    return {
      prompt_tokens: Math.ceil(text.length / CHARS_PER_TOKEN),
      completion_tokens: Math.ceil(JSON.stringify(step).length / CHARS_PER_TOKEN),
      prompt_tokens_details: { cached_tokens: Math.floor(cached / CHARS_PER_TOKEN) },
    }
  }

  provider.otherwise = body => {
    const messages = body.messages as Message[]
    // A call without tools asks for the title of the chat.
    if (!body.tools?.length) return { text: 'Evaluation' }
    const task = taskOf(messages)
    if (!task)
      return { status: 400, body: { error: { message: 'This is no task of the evaluation.' } } }
    const index = messages.filter(({ role }) => role === 'assistant').length
    // Until the service is killed, so that it is killed at the same step each time.
    if (index === task.killAfter && !killed.has(task.id)) return { end: 'headers' }
    const scripted = task.script[index]
    if (!scripted)
      return { status: 400, body: { error: { message: 'The script of this task has ended.' } } }
    const last = messages.findLast(({ role }) => role === 'tool')
    const result = last ? textOf(last) : ''
    const step =
      typeof scripted === 'function' ? scripted({ workspace: workspaceOf(task), result }) : scripted
    const ids = step.toolCalls?.map((one, at) => ({ ...one, id: `call_${index}_${at}` }))
    return { ...step, ...(ids && { toolCalls: ids }), usage: usageOf(task, body, step) }
  }
  return provider
}
