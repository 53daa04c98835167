/** The hooks of one turn: runs those configured for an event, one after the other in the order of the file, and joins their answers. */
import { sentence } from '../../base/sentences.ts'
import { redact } from '../../base/redact/redact.ts'
import { shortenCounting } from '../../base/shorten.ts'
import type {
  AfterCall,
  BeforeCall,
  HookedCall,
  HookedEnd,
  HookedResult,
  Hooks,
} from '../../agent/hooks.ts'
import type { HookActivity } from '../../schema/hook.ts'
import { HookRunner, type HookScope, type HookServices, shownCommand } from './hook-runner.ts'
import { callFields, changedInput, namesOf } from './payload.ts'

/** After this many objections the agent may end: a hook that is never satisfied must not keep a turn running. */
const MAX_CONTINUATIONS = 5
/** Text that hooks may add to one result or message. */
const MAX_CONTEXT_CHARS = 20_000

/** What hooks say about a message of the user. */
export type PromptAnswer = {
  /** Why the message must not be sent; null: it may. */
  blocked: string | null
  context: string[]
}

/** The hooks of one turn, or of one of its subagents. */
export class TurnHooks implements Hooks {
  readonly #scope: HookScope
  readonly #runner: HookRunner
  /** How often the turn was continued. */
  #continuations = 0

  static ofTurn(services: HookServices): TurnHooks {
    const state = { stopped: null, hasChanges: false }
    return new TurnHooks({ ...services, state, subagent: null })
  }

  private constructor(scope: HookScope) {
    this.#scope = scope
    this.#runner = new HookRunner(scope)
  }

  before(call: HookedCall): Promise<BeforeCall> {
    return beforeCall(this.#runner, call)
  }

  after(call: HookedCall, result: HookedResult): Promise<AfterCall> {
    return afterCall(this.#runner, call, result)
  }

  async atEnd(
    text: string,
    signal: AbortSignal,
  ): Promise<{ text: string; activity: HookActivity[] } | null> {
    const { subagent, state, warn } = this.#scope
    const hooks = subagent
      ? this.#runner.matching('subagent end', [subagent.name])
      : this.#runner.matching('turn end')
    for (const hook of hooks) {
      if (hook.afterChanges && !state.hasChanges) continue
      const fields = { stop_hook_active: this.#continuations > 0, last_assistant_message: text }
      const extra = { attempt: this.#continuations, final_response: text }
      const { answer } = await this.#runner.fire(hook, fields, extra, signal)
      if (state.stopped !== null) return null
      if (answer.block === undefined) continue
      if (this.#continuations >= MAX_CONTINUATIONS) {
        const count = MAX_CONTINUATIONS + 1
        warn(sentence('hook.objected', { event: hook.name, command: shownCommand(hook), count }))
        return null
      }
      this.#continuations++
      const reason = redact(answer.block)
      return { text: reason, activity: [this.#runner.activity(hook, 'continued', reason)] }
    }
    return null
  }

  ended(end: HookedEnd, signal: AbortSignal): Promise<void> {
    return observeEnd(this.#runner, end, signal)
  }

  /** `first`: the message begins the chat. `steering`: it was sent while the turn was running. */
  submitted(
    prompt: string,
    moment: 'first' | 'later' | 'steering',
    signal: AbortSignal,
  ): Promise<PromptAnswer> {
    return onPrompt(this.#runner, prompt, moment, signal)
  }

  stopped(): string | null {
    return this.#scope.state.stopped
  }

  ofSubagent(subagent: { id: string; name: string; goal: string }): TurnHooks {
    return new TurnHooks({ ...this.#scope, subagent })
  }
}

/** The texts, up to a total length. */
const bounded = (texts: readonly string[]): string[] => {
  let room = MAX_CONTEXT_CHARS
  return texts.flatMap(text => {
    if (room <= 0) return []
    const cut = shortenCounting(text, room)
    room -= text.length
    return [cut]
  })
}

const beforeCall = async (runner: HookRunner, call: HookedCall): Promise<BeforeCall> => {
  const joined: BeforeCall = {
    blocked: null,
    input: null,
    decision: null,
    reason: '',
    context: [],
    activity: [],
  }
  let current = call
  for (const hook of runner.matching('before tool', namesOf(call))) {
    const extra = { tool_call_id: call.callId }
    const { answer, failure } = await runner.fire(
      hook,
      callFields(hook, current),
      extra,
      call.signal,
    )
    if (failure !== null) joined.activity.push(runner.activity(hook, 'failed', failure))
    const failedClosed =
      failure !== null && hook.failClosed
        ? `the hook "${shownCommand(hook)}" failed, and it is set to fail closed: ${failure}`
        : undefined
    const block = answer.block ?? failedClosed ?? answer.stop
    if (block !== undefined) {
      joined.activity.push(runner.activity(hook, 'blocked', block))
      return { ...joined, blocked: redact(block), context: [] }
    }
    if (answer.input) {
      const input = changedInput(hook, current, answer.input)
      joined.input = input
      current = { ...current, input }
      joined.activity.push(runner.activity(hook, 'changed', JSON.stringify(input)))
    }
    if (answer.context !== undefined) {
      joined.context.push(redact(answer.context))
      joined.activity.push(runner.activity(hook, 'added', answer.context))
    }
    if (answer.decision === undefined) continue
    joined.activity.push(
      runner.activity(hook, answer.decision === 'ask' ? 'asked' : 'allowed', answer.reason),
    )
    // A hook that asks wins over those that allow.
    if (joined.decision === 'ask') continue
    joined.decision = answer.decision
    joined.reason = redact(answer.reason ?? '')
  }
  return { ...joined, context: bounded(joined.context) }
}

const afterCall = async (
  runner: HookRunner,
  call: HookedCall,
  { content, isError, durationMs }: HookedResult,
): Promise<AfterCall> => {
  const { state } = runner.scope
  if (!isError && call.tool.kind === 'write') state.hasChanges = true
  const outcome = isError ? 'failure' : 'success'
  const joined: AfterCall = { content: null, context: [], activity: [] }
  for (const hook of runner.matching('after tool', namesOf(call))) {
    if (hook.only !== undefined && hook.only !== outcome) continue
    const response = joined.content ?? content
    const fields = {
      ...callFields(hook, call),
      tool_response: response,
      ...(isError && { error: response }),
      duration_ms: durationMs,
    }
    const extra = {
      tool_call_id: call.callId,
      result: response,
      status: isError ? 'error' : 'ok',
      duration_ms: durationMs,
    }
    const { answer, failure } = await runner.fire(hook, fields, extra, call.signal)
    if (failure !== null) joined.activity.push(runner.activity(hook, 'failed', failure))
    if (answer.result !== undefined) {
      joined.content = redact(answer.result)
      joined.activity.push(runner.activity(hook, 'changed', answer.result))
    }
    // The call has run: a block is an objection, which the model has to deal with.
    const objection = answer.block === undefined ? [] : [`A hook objects: ${answer.block}`]
    const context = answer.context === undefined ? [] : [answer.context]
    for (const text of [...objection, ...context]) {
      joined.context.push(redact(text))
      joined.activity.push(runner.activity(hook, 'added', text))
    }
  }
  return { ...joined, context: bounded(joined.context) }
}

const observeEnd = async (
  runner: HookRunner,
  { status, text, model, durationMs }: HookedEnd,
  signal: AbortSignal,
): Promise<void> => {
  const { subagent } = runner.scope
  const isCompleted = status === 'finished'
  const hooks = subagent
    ? runner.matching('subagent ended', [subagent.name])
    : runner.matching('turn ended')
  const extra = subagent
    ? {
        child_summary: text,
        child_status: isCompleted ? 'completed' : 'failed',
        child_goal: subagent.goal,
        child_role: subagent.name,
        duration_ms: durationMs,
      }
    : { completed: isCompleted, interrupted: false, assistant_response: text }
  // `post_llm_call` observes answers, and a failed turn has none.
  for (const hook of hooks)
    if (hook.name !== 'post_llm_call' || isCompleted)
      await runner.fire(hook, { model, last_assistant_message: text }, extra, signal)
}

const onPrompt = async (
  runner: HookRunner,
  prompt: string,
  moment: 'first' | 'later' | 'steering',
  signal: AbortSignal,
): Promise<PromptAnswer> => {
  const { warn } = runner.scope
  const context: string[] = []
  const isFirst = moment === 'first'
  const extra = { user_message: prompt, is_first_turn: isFirst }
  const starting = isFirst ? runner.matching('session start', ['startup']) : []
  for (const hook of [...starting, ...runner.matching('prompt')]) {
    const isPrompt = hook.event === 'prompt'
    const fields = isPrompt ? { prompt } : { source: 'startup' }
    const { answer, failure } = await runner.fire(hook, fields, extra, signal)
    const problem = failure !== null && hook.failClosed ? `a hook failed: ${failure}` : undefined
    const block = answer.stop ?? (isPrompt ? (answer.block ?? problem) : undefined)
    if (block !== undefined) {
      // Any other message fails its turn with the reason.
      if (moment === 'steering') warn(sentence('hook.blocked_message', { reason: block }))
      return { blocked: redact(block), context: [] }
    }
    if (answer.context !== undefined) context.push(redact(answer.context))
  }
  return { blocked: null, context: bounded(context) }
}
