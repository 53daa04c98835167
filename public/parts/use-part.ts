/** Reads a part of a signal's value. */
import { computed, type ReadonlySignal } from '@preact/signals'
import { useMemo } from 'preact/hooks'

/**
 * The component is rendered again when this part changes, not with each change of the value: a token changes the chat as a whole.
 * `pick` depends on nothing else, and returns a part, not a new object.
 */
export const usePart = <T, P>(source: ReadonlySignal<T>, pick: (value: T) => P): P =>
  useMemo(() => computed(() => pick(source.value)), [source]).value
