/** Asks about each new destination of a running command. The command waits for the answer. */
import { networkKey, placeOf } from '../../base/network-key.ts'
import { Refusal } from '../../base/refusal.ts'
import { denial } from '../permissions/denied-path.ts'
import type { RunsIn } from '../../schema/command-place.ts'
import type { Reason } from '../../schema/question.ts'
import type { Rules } from '../permissions/rules.ts'
import { reasonFields } from '../reasons.ts'
import type { CheckTarget, NetworkTarget } from '../tool-services.ts'
import type { ToolContext } from '../types.ts'

const MAX_SHOWN = 60

/** The first line, short enough for a sentence. */
const commandTitle = (command: string): string => {
  const [line = '', ...more] = command.trim().split('\n')
  return line.length > MAX_SHOWN || more.length > 0
    ? `${line.slice(0, MAX_SHOWN).trimEnd()} …`
    : line
}

const reasonOf = (command: string, target: NetworkTarget): Reason => ({
  reaches: {
    command: commandTitle(command),
    place: placeOf(target),
    ...(target.isPrivate && { private: true as const }),
    ...(target.address !== undefined && { address: target.address }),
  },
})

const END = 'Do not try to reach it another way.'

/** A rule that denies a host to the web tools denies it to commands. */
const deniedHost = (rules: Rules | undefined, host: string): string | null => {
  const verdict = rules?.decide({ tool: '', accesses: [{ kind: 'host', host }] })
  return rules && verdict?.list === 'deny' ? denial(verdict, rules) : null
}

type RunningCommand = { command: string; cwd: string; runsIn: RunsIn | undefined }
/** A time limit that can stand still. */
type Pausable = { pause: () => void; go: () => void }

/** One per command: an answer for this command is remembered, a denial as well. */
export class NetworkGate {
  readonly #ctx: ToolContext
  readonly #command: RunningCommand
  readonly #answers = new Map<string, Promise<string | null>>()
  readonly #denied = new Set<string>()
  #countdown: Pausable | undefined

  constructor(ctx: ToolContext, running: RunningCommand) {
    this.#ctx = ctx
    this.#command = running
  }

  /** What stands still while a question is open. */
  pauses(countdown: Pausable): void {
    this.#countdown = countdown
  }

  readonly check: CheckTarget = async (target, ended) => {
    const { turn, signal } = this.#ctx
    const ruled = deniedHost(turn.rules, target.host)
    if (ruled !== null) return this.#refused(target, ruled)
    const key = networkKey(target)
    const answer = this.#answers.get(key) ?? (signal.aborted ? null : this.#ask(key, target, ended))
    if (answer) this.#answers.set(key, answer)
    const why = answer ? await answer : this.#withoutAsking(key, target)
    return this.#refused(target, why)
  }

  #refused(target: NetworkTarget, why: string | null): string | null {
    if (why !== null) this.#denied.add(placeOf(target))
    return why
  }

  /** What of it was not allowed, for the result of the command. */
  fields(): { network?: string } {
    const denied = [...this.#denied]
    return denied.length > 0 ? { network: `Not allowed: ${denied.join(', ')}.` } : {}
  }

  /** After the end of the turn no one is asked: what was allowed before counts. */
  #withoutAsking(key: string, target: NetworkTarget): string | null {
    return this.#ctx.turn.allowsNetwork?.(key)
      ? null
      : `Not approved: ${placeOf(target)} was not allowed before, and the turn that could ask has ended.`
  }

  async #ask(key: string, target: NetworkTarget, signal: AbortSignal): Promise<string | null> {
    const { command, cwd, runsIn } = this.#command
    this.#countdown?.pause()
    try {
      const choice = await this.#ctx.approve({
        command,
        cwd,
        ...(runsIn && { runsIn }),
        patternKeys: [key],
        ...reasonFields(reasonOf(command, target)),
        choices: ['once', 'session', 'always', 'deny'],
        network: target,
        signal,
      })
      return choice === 'deny' ? `The user denied access to ${placeOf(target)}. ${END}` : null
    } catch (error) {
      if (error instanceof Refusal) return error.message
      return this.#withoutAsking(key, target)
    } finally {
      this.#countdown?.go()
    }
  }
}
