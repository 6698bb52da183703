"""Read by the server of forked.py before it forks: what is made here is there in every command.

To make what checks the files of a workspace takes longer than all else that most commands do.
"""

import gc
from pathlib import Path
from tempfile import TemporaryDirectory

import toy

from campaign.workspace import Workspace

with TemporaryDirectory(prefix="ready-") as folder:
    workspace = Workspace(toy.make(Path(folder, "toy")).root)
    system = workspace.load_system()
    workspace.load_playbooks(workspace.playbook_names(), system, None, {})

gc.freeze()
