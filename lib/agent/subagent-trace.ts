/** Trace of a subagent's tool calls, bounded so that it fits into the delegating call's result. */
import type { HookActivity } from '../schema/hook.ts'
import type { AgentEvent, TraceEntry } from './types.ts'

const MAX_ENTRIES = 60
const PREVIEW_CHARS = 120

export class Trace {
  readonly entries: TraceEntry[] = []
  /** What hooks did about the calls. */
  readonly hooks: HookActivity[] = []
  readonly #byCall = new Map<string, TraceEntry>()
  #count = 0

  apply(event: AgentEvent): void {
    if (event.type === 'tool') this.#begin(event)
    if (event.type !== 'tool_complete') return
    // Of calls of nested subagents, the delegating call has them.
    if (!event.owner)
      this.hooks.push(...(event.hooks ?? []).slice(0, MAX_ENTRIES - this.hooks.length))
    const entry = this.#byCall.get(event.callId)
    if (!entry) return
    entry.status = event.isError ? 'error' : 'ok'
    entry.duration_seconds = Math.round(event.durationMs / 100) / 10
  }

  #begin({ callId, name, preview, owner: ref }: Extract<AgentEvent, { type: 'tool' }>): void {
    if (++this.#count > MAX_ENTRIES) return
    const entry: TraceEntry = {
      tool: name,
      preview: (preview ?? '').replace(/\s+/g, ' ').slice(0, PREVIEW_CHARS),
      status: 'unfinished',
      duration_seconds: 0,
      ...(ref && { task_index: ref.index }),
    }
    this.#byCall.set(callId, entry)
    const owner = ref && this.#byCall.get(ref.parent)
    if (owner) {
      owner.trace ??= []
      owner.trace.push(entry)
    } else this.entries.push(entry)
  }
}
