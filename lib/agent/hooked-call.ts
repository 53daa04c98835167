/** Runs the hooks of the user before and after one tool call. */
import type { Clock } from '../base/clock.ts'
import type { RunsIn } from '../schema/command-place.ts'
import type { HookActivity } from '../schema/hook.ts'
import { errorResult, withField } from './error-result.ts'
import type { BeforeCall, HookedCall, Hooks } from './hooks.ts'
import { CONTROL_APPROVAL } from './tools/allowed-paths.ts'
import type { ToolContext, ToolResult } from './types.ts'

/** What hooks said and did about a call and the calls it makes. */
export type CallNotes = {
  /** For the model. */
  texts: string[]
  /** For the page. */
  activity: HookActivity[]
  /** Where its commands ran, those of a script included. */
  ranIn?: RunsIn
}

type Steps = {
  /** Puts validated arguments in place of the old ones; the result of the call when they are invalid. */
  change: (args: Record<string, unknown>) => ToolResult | null
  /** Checks and runs the call. */
  run: (before: BeforeCall) => Promise<ToolResult>
  mask: (text: string) => string
  clock: Clock
}

/** A shown argument is not longer than this. */
const MAX_SHOWN_CHARS = 2_000

/** `entry.args` are the arguments in force. Rejects with the reason of an aborted signal. */
export const runHooked = async (
  hooks: Hooks,
  call: Omit<HookedCall, 'input'>,
  entry: { args: Record<string, unknown>; notes: CallNotes },
  { change, run, mask, clock }: Steps,
): Promise<ToolResult> => {
  const { texts, activity } = entry.notes
  const before = await hooks.before({ ...call, input: entry.args })
  activity.push(...before.activity)
  if (before.blocked !== null)
    return errorResult(`A hook of the user blocked this call: ${before.blocked}`, 'hook')
  if (before.input) {
    const invalid = change(before.input)
    if (invalid) {
      texts.push('A hook of the user changed the arguments of this call, and they became invalid.')
      return invalid
    }
    const text = mask(JSON.stringify(before.input)).slice(0, MAX_SHOWN_CHARS)
    texts.push(`A hook of the user changed the arguments of this call. It ran with: ${text}`)
  }
  texts.push(...before.context)
  const startedAt = clock.monotonic()
  const result = await run(before)
  if (call.signal.aborted) return result
  const after = await hooks.after(
    { ...call, input: entry.args },
    {
      content: mask(result.content),
      isError: result.isError ?? false,
      durationMs: clock.monotonic() - startedAt,
    },
  )
  texts.push(...after.context)
  activity.push(...after.activity)
  if (after.content === null) return result
  // What the page shows beside the text belongs to the replaced one.
  const { isError, refusedBy, preview } = result
  return {
    content: after.content,
    ...(isError && { isError }),
    ...(refusedBy && { refusedBy }),
    ...(preview && { preview }),
  }
}

/** Asks the user where a hook wants that; the result of the call when it is denied. */
export const askForHook = async (
  { decision, reason }: BeforeCall,
  name: string,
  preview: string | null,
  approve: ToolContext['approve'],
  cwd: string,
): Promise<ToolResult | null> => {
  if (decision !== 'ask') return null
  const choice = await approve({
    command: preview ? `${name}: ${preview}` : name,
    patternKeys: [`hook: ${name}`],
    description: `A hook asks for your approval.${reason === '' ? '' : ` ${reason}`}`,
    cwd,
    // No setting and no earlier answer applies: the hook asks each time.
    ...CONTROL_APPROVAL,
  })
  return choice === 'deny' ? errorResult('The user denied this call.', 'user') : null
}

/** The field of a result with what hooks said. */
const FIELD = '_hooks'

/** The result with the texts: as a field of a JSON object, else as its last line. */
export const withHookTexts = (content: string, texts: readonly string[]): string => {
  return texts.length === 0 ? content : withField(content, FIELD, texts)
}
