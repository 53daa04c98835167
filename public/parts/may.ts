/**
 * What the signed-in person may ask the server for. The server sends the routes that it would refuse, from the table that it
 * checks itself; controls name the route that they call and are left out when it is one of them.
 */
import { signal } from '@preact/signals'
import type { Api } from '../../router.ts'

export type Route = keyof Api

const refused = signal<ReadonlySet<string>>(new Set())

export const setRefused = (routes: readonly string[]): void => {
  refused.value = new Set(routes)
}

/** False where the role of the person makes the server answer with a 403. Rendering follows a change. */
export const may = (route: Route): boolean => !refused.value.has(route)
