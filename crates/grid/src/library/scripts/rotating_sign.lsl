// Turns an object slowly, and shows one line of text after the other above it.
// A touch stops it, and the next one lets it turn again.

list LINES = ["Welcome!", "Have a look around.", "A touch stops the sign."];
vector COLOR = <1.0, 1.0, 0.6>;
float SPEED = 0.5;   // radians per second
float LINE_S = 4.0;  // seconds for each line

integer line = 0;
integer is_turning = TRUE;

show()
{
    llSetText(llList2String(LINES, line), COLOR, 1.0);
    line = (line + 1) % llGetListLength(LINES);
}

turn()
{
    llTargetOmega(<0.0, 0.0, 1.0>, SPEED * is_turning, 1.0);
}

default
{
    state_entry()
    {
        turn();
        show();
        llSetTimerEvent(LINE_S);
    }

    touch_start(integer touches)
    {
        is_turning = !is_turning;
        turn();
    }

    timer()
    {
        show();
    }
}
