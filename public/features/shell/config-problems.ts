/** What stands in the way of every turn as long as it lasts: files that cannot be read, guards that close something. */
import { signal } from '@preact/signals'
import type { Api } from '../../../router.ts'
import type { ApiCall } from '../../api.ts'

export type ConfigProblems = Api['GET /api/config/problems']['output']

export const createConfigProblems = (api: ApiCall) => {
  const current = signal<ConfigProblems>({ problems: [], guards: [] })
  return {
    current,
    async load(): Promise<void> {
      current.value = await api('GET /api/config/problems')
    },
    /** Does without a guard as long as its value stays, or asks for it again. */
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
