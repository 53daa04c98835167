/** Runs single hooks of a turn and reports their failures; `turn-hooks.ts` decides which run and joins their answers. */
import { sentence, type Words } from '../../base/sentences.ts'
import { redact } from '../../base/redact/redact.ts'
import { shortenCounting } from '../../base/shorten.ts'
import type { HookActivity } from '../../schema/hook.ts'
import type { JsonObject } from '../../base/json.ts'
import type { Hook } from './config.ts'
import type { HookEvent } from './events.ts'
import { type HookPlace, toPayload } from './payload.ts'
import type { HookRecords } from './records.ts'
import { type HookReply, parseReply } from './reply.ts'
import { runHookCommand } from './run-command.ts'

export type HookServices = {
  /** Those of the home, read at each event, so that a changed file takes effect immediately. */
  hooks: () => readonly Hook[]
  place: HookPlace & { home: string }
  env: Readonly<Record<string, string>>
  records: HookRecords
  /** Shows a message of a hook, or that it failed. */
  warn: (message: Words) => void
}

export type HookScope = HookServices & {
  /** Shared by the turn and its subagents. */
  state: { stopped: string | null; hasChanges: boolean }
  subagent: { id: string; name: string; goal: string } | null
}

export type HookResult = { answer: HookReply; failure: string | null }

const SHOWN_COMMAND_CHARS = 80
const SHOWN_TEXT_CHARS = 200

export const shownCommand = ({ command }: Hook): string =>
  shortenCounting(command, SHOWN_COMMAND_CHARS)

export class HookRunner {
  readonly scope: HookScope
  readonly #warned = new Set<string>()

  constructor(scope: HookScope) {
    this.scope = scope
  }

  #owner(): JsonObject {
    const { subagent } = this.scope
    return subagent ? { agent_id: subagent.id, agent_type: subagent.name } : {}
  }

  /** `names`: what a matcher is compared with; absent where the event has nothing to compare. */
  matching(event: HookEvent, names?: readonly string[]): Hook[] {
    return this.scope
      .hooks()
      .filter(hook => hook.event === event && (!names || hook.matches(names)))
  }

  activity(hook: Hook, action: HookActivity['action'], text = ''): HookActivity {
    return {
      event: hook.name,
      hook: shortenCounting(redact(hook.command), SHOWN_COMMAND_CHARS),
      action,
      ...(text !== '' && { text: shortenCounting(redact(text), SHOWN_TEXT_CHARS) }),
    }
  }

  /** Rejects only with the signal's reason. An asynchronous hook is not waited for, and what it answers is ignored. */
  async fire(
    hook: Hook,
    fields: JsonObject,
    extra: JsonObject,
    signal: AbortSignal,
  ): Promise<HookResult> {
    const running = runHookCommand({
      command: hook.command,
      cwd: this.scope.place.cwd,
      env: this.scope.env,
      input: toPayload(hook, this.scope.place, { ...this.#owner(), ...fields }, extra),
      timeoutMs: hook.timeoutMs,
      signal,
    }).then((run): HookResult => {
      const { reply, failure } = parseReply(hook, run)
      if (!signal.aborted) {
        this.scope.records.ran(this.scope.place.home, hook, {
          isBlocking: reply.block !== undefined,
          failure,
        })
        if (failure !== null) this.#warnFailure(hook, failure)
      }
      return { answer: reply, failure }
    })
    if (hook.isAsync) return { answer: {}, failure: null }
    const fired = await running
    signal.throwIfAborted()
    const { message, stop } = fired.answer
    if (message !== undefined) this.scope.warn(message)
    if (stop !== undefined && this.scope.state.stopped === null) {
      this.scope.state.stopped = redact(stop)
      this.scope.warn(sentence('hook.ended_turn', { reason: stop }))
    }
    return fired
  }

  /** Once per turn and hook. */
  #warnFailure(hook: Hook, failure: string): void {
    const key = JSON.stringify([hook.name, hook.command])
    if (!this.#warned.has(key))
      this.scope.warn(
        sentence('hook.failed', { event: hook.name, command: shownCommand(hook), reason: failure }),
      )
    this.#warned.add(key)
  }
}
