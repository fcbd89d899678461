"""The history of the libraries' public names: what each release exports, and which keywords its functions take.

``store`` reads the data (``data/``, made by ``scripts/api_history``), ``world`` answers questions about one release of each library, ``judge``
compares the answers with a target, ``moves`` says where a name went.
"""
