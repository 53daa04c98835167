/** Text in which names of files and URLs become links, once the code that finds them is loaded. */
import { type Signal, signal } from '@preact/signals'
import type { ComponentChildren, ComponentType } from 'preact'
import { useEffect } from 'preact/hooks'
import { firstContent } from '../parts/first-content.ts'
import { loadLazyCss } from '../parts/lazy-css.ts'

export type LinkedTextProps = {
  text: string
  /** The text of inline code may be one name, with spaces. */
  code?: boolean
  /** Only URLs, and names of files with a line: source code is full of words that could be a file. */
  places?: boolean
  /** Renders a part of the text, for text that is more than letters. */
  slice?: (from: number, to: number) => ComponentChildren
}

export type LinkedPathProps = {
  /** As written in a Markdown link or image. */
  target: string
  /** The directory of the document that contains the link, relative to the workspace. */
  directory: string
  children: ComponentChildren
}

export type LinkedImageProps = Omit<LinkedPathProps, 'children'> & { text: string }

type Linked = {
  Text: ComponentType<LinkedTextProps>
  Path: ComponentType<LinkedPathProps>
  Image: ComponentType<LinkedImageProps>
}

const linked: Signal<Linked | 'loading' | null> = signal(null)

const load = (): void => {
  if (linked.peek() !== null) return
  linked.value = 'loading'
  const parts = async () =>
    await Promise.all([import('../features/references/linked.tsx'), loadLazyCss()])
  firstContent.then(parts).then(
    ([{ ReferenceText, PathLink, WorkspaceImage }]) => {
      linked.value = { Text: ReferenceText, Path: PathLink, Image: WorkspaceImage }
    },
    // Offline: text without links; the next text tries again.
    () => {
      linked.value = null
    },
  )
}

const useLinked = (): Linked | null => {
  useEffect(load, [])
  const { value } = linked
  return value === 'loading' ? null : value
}

export function LinkedText(props: LinkedTextProps) {
  const views = useLinked()
  const { text, slice } = props
  if (views) return <views.Text {...props} />
  return slice ? slice(0, text.length) : text
}

/** The text of a link whose target may be a file of the workspace. */
export function LinkedPath(props: LinkedPathProps) {
  const views = useLinked()
  return views ? <views.Path {...props} /> : <span class="md-dead">{props.children}</span>
}

/** An image of the workspace; its text when there is no such file. */
export function LinkedImage(props: LinkedImageProps) {
  const views = useLinked()
  return views ? <views.Image {...props} /> : <span class="md-dead">{props.text}</span>
}
