/** Tags of the selected chats: check one to add it to all of them, clear it to remove it. */
import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { Dialog } from '../../parts/dialog.tsx'
import { Field, Form, TextField } from '../../parts/form.tsx'
import { tagsOf } from './tags.ts'
import type { App } from '../../app.ts'
import { useApp } from '../shell/context.ts'
import { tagAll } from './bulk-actions.ts'
import { t } from './selection-strings.ts'
import { parseTags } from './tags.ts'

type CheckProps = { tag: string; state: boolean | 'some'; onChange: (on: boolean) => void }

const Check = ({ tag, state, onChange }: CheckProps) => {
  const ref = useRef<HTMLInputElement>(null)
  useEffect(() => {
    if (ref.current) ref.current.indeterminate = state === 'some'
  }, [state])
  return (
    <label class="tag-check">
      <input
        ref={ref}
        type="checkbox"
        checked={state === true}
        onChange={event => onChange(event.currentTarget.checked)}
      />
      <bdi>#{tag}</bdi>
    </label>
  )
}

const TagsDialog = ({ ids }: { ids: readonly string[] }) => {
  const app = useApp()
  const { layout } = app.shell
  const projects = app.projects
  const { selection } = app.sidebar
  const sessions = app.sessions
  const changes = useSignal<Readonly<Record<string, boolean>>>({})
  const typed = useSignal('')
  const error = useSignal('')
  const titles = ids.flatMap(id => sessions.row(id)?.title ?? [])
  const used = titles.flatMap(tagsOf)
  const tags = [...new Set([...used, ...projects.tags.value])].toSorted()
  const stateOf = (tag: string): boolean | 'some' => {
    const choice = changes.value[tag]
    if (choice !== undefined) return choice
    const count = used.filter(one => one === tag).length
    return count === titles.length ? true : count > 0 && 'some'
  }
  const close = () => {
    layout.overlay.value = null
  }
  const submit = () => {
    const fresh = parseTags(typed.value)
    if (fresh === null) {
      error.value = t('selection.tags.bad')
      return
    }
    const choices = Object.entries(changes.value)
    const of = (on: boolean) => choices.filter(([, isSet]) => isSet === on).map(([tag]) => tag)
    close()
    selection.clear()
    void tagAll(app, ids, { add: [...of(true), ...fresh], remove: of(false) })
  }
  return (
    <Dialog
      title={t('selection.tags.title', { count: ids.length })}
      closeLabel={t('app.close')}
      onClose={close}
    >
      <Form
        submit={t('app.save')}
        isIncomplete={typed.value.trim() === '' && Object.keys(changes.value).length === 0}
        onSubmit={submit}
        onCancel={close}
      >
        {tags.length > 0 && (
          <Field
            label={t('selection.tags')}
            group
            control={() => (
              <div class="tag-checks">
                {tags.map(tag => (
                  <Check
                    key={tag}
                    tag={tag}
                    state={stateOf(tag)}
                    onChange={on => {
                      changes.value = { ...changes.value, [tag]: on }
                    }}
                  />
                ))}
              </div>
            )}
          />
        )}
        <TextField
          label={t('selection.tags.new')}
          hint={t('selection.tags.hint')}
          error={error.value}
          autofocus
          value={typed.value}
          onInput={text => {
            typed.value = text
            error.value = ''
          }}
        />
      </Form>
    </Dialog>
  )
}

export const openTags = ({ overlay }: App['shell']['layout'], ids: readonly string[]): void => {
  overlay.value = <TagsDialog ids={ids} />
}
