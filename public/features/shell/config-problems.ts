/** Configuration problems that affect every turn: unreadable files, unsupported security settings, and settings that wait to be accepted. */
import { signal } from '@preact/signals'
import type { Api } from '../../../router.ts'
import type { ApiCall } from '../../api.ts'

export type ConfigProblems = Omit<Api['GET /api/config/problems']['output'], 'ignored'>

export const createConfigProblems = (api: ApiCall) => {
  const current = signal<ConfigProblems>({ problems: [], guards: [], changed: null })
  return {
    current,
    async load(): Promise<void> {
      current.value = await api('GET /api/config/problems')
    },
    /** Accepts what something else changed in guarded settings, or restores the values in force. */
    async settle(change_id: string, accept: boolean): Promise<void> {
      await api('POST /api/guards/changes', { change_id, accept })
      current.value = await api('GET /api/config/problems')
    },
    /** Accepts a security setting that isn't supported, until its value changes; or revokes that. */
    async accept(
      key: string,
      value_id: string,
      accepted: boolean,
    ): Promise<Api['GET /api/guards']['output']> {
      const answer = await api('POST /api/guards/accept', { key, value_id, accepted })
      current.value = await api('GET /api/config/problems')
      return answer
    },
  }
}

export type ConfigProblemsState = ReturnType<typeof createConfigProblems>
