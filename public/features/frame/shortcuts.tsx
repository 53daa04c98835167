/** Dialog with every shortcut and slash command. */
import { COMMAND_GROUPS } from '../composer/find-commands.ts'
import { t as tGroup } from '../composer/completion-strings.ts'
import { suggestions } from '../composer/slash-commands.ts'
import { formatKeys } from '../shell/keys.ts'
import { shortcuts } from './keys.ts'
import { Dialog } from '../../parts/dialog.tsx'
import { t } from '../shell/shortcut-strings.ts'
import { useShell } from '../../contexts.ts'
import { ScrollBox } from '../../parts/scroll-box.tsx'

const Keys = () => {
  const { layout } = useShell()
  return shortcuts.map(group => (
    <section key={group.label}>
      <h3>{t(group.label)}</h3>
      <dl>
        {group.shortcuts.map(({ keys, label }) => (
          <div key={label} class="keys-line">
            <dt>{t(label)}</dt>
            <dd>
              <kbd>{formatKeys(keys, layout.mac)}</kbd>
            </dd>
          </div>
        ))}
      </dl>
    </section>
  ))
}

const Commands = () => {
  const groups = Map.groupBy(suggestions(), ({ group }) => group)
  return COMMAND_GROUPS.flatMap(group => {
    const commands = groups.get(group)
    if (!commands) return []
    return [
      <section key={group}>
        <h3>{tGroup(`group.${group}`)}</h3>
        <dl>
          {commands.map(({ name, summary, argument }) => (
            <div key={name} class="keys-line keys-command">
              <dt>
                <code>/{name}</code>
              </dt>
              <dd>
                {summary}{' '}
                {argument && (
                  <bdi class="faint" dir="ltr">
                    {argument}
                  </bdi>
                )}
              </dd>
            </div>
          ))}
        </dl>
      </section>,
    ]
  })
}

export const Shortcuts = () => {
  const { layout } = useShell()
  return (
    <Dialog
      title={t('keys.title')}
      kind="keys"
      closeLabel={t('app.close')}
      onClose={() => {
        layout.shortcutsOpen.value = false
      }}
    >
      <ScrollBox class="keys" label={t('keys.title')}>
        <div>
          <Keys />
        </div>
        <div>
          <Commands />
        </div>
      </ScrollBox>
    </Dialog>
  )
}
